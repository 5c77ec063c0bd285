// The peer's configuration: one chain, one contract, one event, and otherwise its defaults.
import { createConfig } from "ponder";
import { parseAbi } from "viem";

const required = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
};

export default createConfig({
  // Without it the peer takes the server at DATABASE_URL.
  ...(process.env.PEER_PGLITE_FOLDER && {
    database: { kind: "pglite" as const, directory: process.env.PEER_PGLITE_FOLDER },
  }),
  chains: {
    synthetic: {
      id: Number(required("PEER_CHAIN_ID")),
      // The peer paces its requests URL by URL.
      rpc: Array<string>(Number(required("PEER_RPC_TIMES"))).fill(required("PEER_RPC_URL")),
    },
  },
  contracts: {
    FeeCollector: {
      abi: parseAbi([
        "event FeesCollected(address indexed token, address indexed integrator, uint256 integratorFee, uint256 lifiFee)",
      ]),
      chain: "synthetic",
      address: required("PEER_CONTRACT") as `0x${string}`,
      startBlock: 0,
      endBlock: Number(required("PEER_END_BLOCK")),
    },
  },
});

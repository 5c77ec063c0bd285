// The peer wants an API; nobody asks it anything while it is measured.
import { Hono } from "hono";

export default new Hono();

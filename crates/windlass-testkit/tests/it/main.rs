//! The testkit tested on its own model.

mod house;
mod listing;
mod planted;
mod scripts;

mod model_conformance {
    use windlass_testkit::model_store::ModelHarness;

    async fn fresh() -> ModelHarness {
        ModelHarness::default()
    }

    windlass_testkit::conformance!(fresh());
}

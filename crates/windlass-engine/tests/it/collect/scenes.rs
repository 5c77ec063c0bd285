//! Single scenes, each with one thing that can go wrong.

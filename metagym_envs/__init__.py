"""The families that come with MetaGym."""

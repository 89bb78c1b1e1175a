"""What builds the documentation site: pages made of the package itself, notebooks, pictures, and checks of them."""

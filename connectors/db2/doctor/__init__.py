"""What keeps hotplace from seeing or acting, each with its remedy."""

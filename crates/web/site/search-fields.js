// What the index of the documentation holds; it is made in one place and read in another.
export const FIELDS = ["title", "page", "text"];
export const STORED = ["page", "title", "address"];

// What may leave the page or be drawn by the browser: addresses and images.

/** An address that may be followed, or null. What browsers drop from addresses is dropped first. */
function safeAddress(value) {
  // eslint-disable-next-line no-control-regex
  const address = str(value).replace(/[\u0000-\u0020\u007f-\u00a0\u200b-\u200f\u2028-\u202e\u2060\ufeff]/g, "");
  return /^(https?:\/\/|mailto:)[^/]/i.test(address) ? address : null;
}

/** `content` as a link to `address`, or as it is if the address may not be followed. */
function linkTo(address, ...content) {
  const target = safeAddress(address);
  if (target === null) {
    const span = make("span", "unlinked", ...content);
    const shown = str(address);
    if (shown && span.textContent !== shown) span.append(make("span", "address", ` (${shown})`));
    return span;
  }
  const anchor = make("a", "", ...content);
  anchor.href = target;
  anchor.rel = "noopener noreferrer";
  anchor.target = "_blank";
  return anchor;
}

const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"];

/** An image block: a picture if it is of a kind that cannot run anything, else a note. */
function picture(block) {
  const type = str(block.mimeType).trim().toLowerCase();
  const data = str(block.data).replace(/\s/g, "");
  if (!IMAGE_TYPES.includes(type) || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
    return make("div", "note", `[image not shown: ${str(block.mimeType) || "unknown type"}]`);
  }
  const image = make("img", "picture");
  image.src = `data:${type};base64,${data}`;
  image.alt = `Image, ${type}, ${count((data.length * 3) / 4 / 1024) || 1} KB`;
  image.loading = "lazy";
  image.addEventListener("click", () => image.classList.toggle("full"));
  image.addEventListener("error", () => image.replaceWith(make("div", "note", `[image cannot be read: ${type}]`)));
  return image;
}

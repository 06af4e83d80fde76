/** An expression for a page: texts with less contrast than WCAG 2.2 AA requires (4.5 to 1). */
export const contrasts = `(() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => part / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    const colour = getComputedStyle(node).backgroundColor;
    return colour === 'rgba(0, 0, 0, 0)' ? ground(node.parentElement ?? document.body) : colour;
  };
  return [...document.querySelectorAll('body *')]
    .filter((node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim() !== '') && node.checkVisibility())
    .filter((node) => {
      const [a, b] = [light(getComputedStyle(node).color), light(ground(node))].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05) < 4.5;
    })
    .map((node) => node.outerHTML.slice(0, 80));
})()`;

/** Control characters without line feed and tab, and characters that change the order or the lines of a text. */
const obeyed = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** A text for a terminal: of the characters that a terminal obeys, only line feeds and tabs stay. Others become JSON escapes. */
export function printable(text: string): string {
  return text.replace(obeyed, escapeOf);
}

/** Text within a line, such as a name, with what a terminal can show. */
export function printableInLine(text: string): string {
  return printable(text).replace(/[\n\t]/g, escapeOf);
}

function escapeOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

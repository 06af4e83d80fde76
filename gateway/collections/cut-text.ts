/** The begin of a text, as a copy: a slice would retain the whole text in V8. */
export function cutText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${Buffer.from(text.slice(0, maxLength - 1)).toString()}…`;
}

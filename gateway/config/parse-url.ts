/** @returns undefined for an invalid URL. `URL.canParse` of Node 20 calls `https://ä.example` invalid after some thousand calls. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

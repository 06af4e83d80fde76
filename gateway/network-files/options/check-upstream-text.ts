/** Headers of the connection or the body. The gateway sets them. */
const gatewayHeaders: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Checks a header. @param value after variable expansion */
export function checkHeader(value: string | undefined, name: string | number): string | undefined {
  if (gatewayHeaders.has(String(name).toLowerCase())) return 'the gateway sets this header itself';
  return value === undefined || /^[ -~]*$/.test(value)
    ? undefined
    : 'after variable expansion, the value has a character that no header may have, such as a line break';
}

/** @returns a check of URLs after variable expansion. Problems do not show the URL, which may contain a provider's key. */
export function checkUrl(scheme: 'http' | 'ws'): (url: string | undefined) => string | undefined {
  return (url) => {
    if (url === undefined) return undefined;
    const isOfScheme = url.startsWith(`${scheme}://`) || url.startsWith(`${scheme}s://`);
    if (!isOfScheme || /\s/.test(url) || !URL.canParse(url)) {
      return `expected ${scheme} or ${scheme}s URL after variable expansion`;
    }
    const { username, password } = new URL(url);
    return [username, password].every(isDecodable) ? undefined : 'write % in user or password as %25';
  };
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

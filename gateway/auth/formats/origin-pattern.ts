/** `[scheme://][*.]host[:port]`; a bare `*` host would be no restriction, and so is none. */
const pattern =
  /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i;

export function isOriginPattern(text: string): boolean {
  return pattern.test(text);
}

/**
 * Tells whether an Origin header fits one of the patterns. Without a scheme a pattern fits any; `*.` stands for one or
 * more labels, not for none; a port must be the same, and a browser leaves out a scheme's own.
 * @param texts each of which `isOriginPattern`
 */
export function originMatcher(texts: readonly string[]): (origin: string) => boolean {
  const patterns = texts.map((text) => {
    const [, scheme, wildcard, host = '', port] = pattern.exec(text.toLowerCase()) ?? [];
    return { scheme, isWildcard: wildcard !== undefined, host, port: port ?? '' };
  });
  return (origin) => {
    const [, scheme, wildcard, host = '', port] = pattern.exec(origin.toLowerCase()) ?? [];
    if (scheme === undefined || wildcard !== undefined) return false;
    return patterns.some(
      (one) =>
        (one.scheme === undefined || one.scheme === scheme) &&
        one.port === (port ?? '') &&
        (one.isWildcard ? host.endsWith(`.${one.host}`) : host === one.host),
    );
  };
}

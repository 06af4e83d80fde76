/** `[scheme://][*.]host[:port]`. A bare `*` is invalid: it would restrict nothing. */
const pattern =
  /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i;

export function isOriginPattern(text: string): boolean {
  return pattern.test(text);
}

/** An Origin header that the pattern matches: `https://app.example.org` of `*.example.org`. */
export function originLike(text: string): string {
  const [, scheme = 'https', wildcard, host = '', port] = pattern.exec(text) ?? [];
  return `${scheme}://${wildcard === undefined ? '' : 'app.'}${host}${port === undefined ? '' : `:${port}`}`;
}

/**
 * Returns a function that matches an Origin header against the patterns. A pattern without a scheme matches any scheme.
 * `*.` matches one or more labels. Ports must be equal; browsers omit the default port of the scheme.
 * @param texts valid patterns, see `isOriginPattern`
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
      (allowed) =>
        (allowed.scheme === undefined || allowed.scheme === scheme) &&
        allowed.port === (port ?? '') &&
        (allowed.isWildcard ? host.endsWith(`.${allowed.host}`) : host === allowed.host),
    );
  };
}

/** Makes a POSIX shell line that sends a JSON-RPC call; curl adds a line break to the response. @param options of curl */
export function curlLine(url: string, method: string, params: unknown[], options: readonly string[] = []): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const more = options.map((option) => ` ${quoted(option)}`).join('');
  return `curl -sSw '\\n'${more} ${quoted(url)} -H 'content-type: application/json' -d ${quoted(body)}`;
}

function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

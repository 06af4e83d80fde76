/** The part of a method's name before the first underscore or dot: `eth` of `eth_call`, `rpc` of `rpc.discover`. */
export function namespaceOf(method: string): string {
  return /^[^_.]*/.exec(method)?.[0] ?? '';
}

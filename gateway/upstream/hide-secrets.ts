/**
 * What a node said, without the words that have parts of its address or of our credentials in them: nodes and proxies
 * between may name the address that they were asked at, and a provider's key is in it.
 * @param secrets in lower case
 */
export function hideSecrets(message: string, secrets: readonly string[]): string {
  const tellsOn = (text: string): boolean => {
    const lower = text.toLowerCase();
    return secrets.some((secret) => lower.includes(secret));
  };
  if (!tellsOn(message)) return message;
  return message
    .split(/(\s+)/)
    .map((word) => (tellsOn(word) ? '<upstream>' : word))
    .join('');
}

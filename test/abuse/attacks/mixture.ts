import type { Attack } from './attack.ts';

/** Several attacks at once, with one key and from one address. */
export function mixtureOf(
  name: string,
  { parts, bound, seconds, key }: Pick<Attack, 'bound' | 'seconds' | 'key'> & { readonly parts: readonly Attack[] },
): Attack {
  const sum = (part: keyof Attack['atLeast']): number => parts.reduce((total, { atLeast }) => total + atLeast[part], 0);
  return {
    name,
    sends: `at once, with one key: ${parts.map((part) => part.name).join('; ')}`,
    bound,
    seconds,
    key,
    // A defence against one part may close connections of another before they have sent all.
    atLeast: { connections: sum('connections'), bytes: sum('bytes') / 4 },
    start(target, traffic) {
      for (const part of parts) part.start(target, traffic);
    },
  };
}

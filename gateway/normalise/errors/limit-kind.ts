/**
 * Kind of limit of an error of the class `too-large`. `results`: also bytes, time, and texts without a row. `none`: no smaller
 * range or list of addresses would be allowed.
 */
export type LimitKind = 'range' | 'results' | 'addresses' | 'none';

interface LimitRow {
  readonly kind: LimitKind;
  readonly text: RegExp;
}

/** The first row that matches decides. The texts are in test/recorded/ and test/normalise/texts.test.ts. */
const rows: readonly LimitRow[] = [
  { kind: 'none', text: /\b(?:specify|provide) an address\b|\brestricted to paid\b/i },
  { kind: 'addresses', text: /\baddress(?:es)?\b/i },
  {
    kind: 'results',
    text: /\b(?:results?|response|entries|records|size|timeout)\b|\btoo many logs\b|\blogs (?:are )?limited\b|\bmax(?:imum)? logs\b/i,
  },
  { kind: 'range', text: /\b(?:block)?ranges?\b|\bmax ?blockrange\b|\bblocks?\b/i },
];

/** @param text the message of the error */
export function limitKindOf(text: string): LimitKind {
  return rows.find((row) => row.text.test(text))?.kind ?? 'results';
}

import { clock } from '../../clock/clock.ts';
import { durationOf } from '../formats/duration.ts';
import { rateOf, type Rate } from './key-limits.ts';

/** The same maximum as Infura's. */
const MAX_ENTRIES = 30;
const MAX_NUMBER = 1_000_000_000_000;

/** Splits at commas. An empty text gives one empty entry, which is invalid. */
export function entriesOf(text: string): string[] {
  return text.split(',').map((entry) => entry.trim());
}

/** Reads each entry; undefined if one is invalid, or if there are too many. */
export function readEntries<Entry>(
  text: string,
  read: (entry: string) => Entry | undefined,
): readonly Entry[] | undefined {
  const texts = entriesOf(text);
  const entries = texts.map(read).filter((entry) => entry !== undefined);
  return texts.length <= MAX_ENTRIES && entries.length === texts.length ? entries : undefined;
}

/** Reads the text of a field. It returns undefined for an invalid one. */
export interface Reader<Value> {
  (text: string): Value | undefined;
  /** Form of the numbers that it reads. Error texts quote only numbers: other values may be secrets. */
  readonly numbers?: string;
  /** Whether a text is a valid entry of the lists that it reads. */
  readonly isEntry?: (entry: string) => boolean;
}

/** A reader of lists whose entries all have a form. */
export function listOf(form: RegExp | ((entry: string) => boolean)): Reader<readonly string[]> {
  const isEntry = form instanceof RegExp ? (entry: string) => form.test(entry) : form;
  return Object.assign((text: string) => readEntries(text, (entry) => (isEntry(entry) ? entry : undefined)), {
    isEntry,
  });
}

/** The number of the first invalid entry of a list, from 1; undefined: another reason, or no list. */
export function invalidEntry({ isEntry = () => true }: Reader<unknown>, text: string): number | undefined {
  const index = entriesOf(text).findIndex((entry) => !isEntry(entry));
  return index === -1 ? undefined : index + 1;
}

export function readTime(text: string): number | undefined {
  const isIso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const at = isIso ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** Converts a duration from now, such as `90d`, to a time. Any other text stays as it is. */
export function timeFromNow(text: string): string {
  const durationMs = durationOf(text);
  return durationMs === undefined ? text : new Date(clock.unixMs() + durationMs).toISOString();
}

export function readSwitch(text: string): 'on' | undefined {
  return text === 'on' ? text : undefined;
}

export const readWhole = numbersOf(/^\d{1,13}$/, `whole number from 1 to ${MAX_NUMBER}`);

export const readDecimal = numbersOf(
  /^\d{1,13}(\.\d{1,6})?$/,
  `number above 0, to ${MAX_NUMBER}, with at most 6 decimals`,
);

function numbersOf(form: RegExp, numbers: string): Reader<number> {
  const read = (text: string): number | undefined => {
    const number = form.test(text) ? Number(text) : 0;
    return number > 0 && number <= MAX_NUMBER ? number : undefined;
  };
  return Object.assign(read, { numbers });
}

/** Reads `eth_getLogs=5,eth_call=5/20`: rates by method, each with an optional burst. */
export function readMethodRates(text: string): ReadonlyMap<string, Rate> | undefined {
  const rates = readEntries(text, (entry) => {
    const [, method, perSecondText = '', burstText] =
      /^([a-z][a-zA-Z0-9]*[_.][a-zA-Z0-9]+)=([\d.]+)(?:\/(\d+))?$/.exec(entry) ?? [];
    const perSecond = readDecimal(perSecondText);
    const burst = burstText === undefined ? undefined : readWhole(burstText);
    const isInvalid = perSecond === undefined || (burstText !== undefined && burst === undefined);
    return method === undefined || isInvalid ? undefined : ([method, rateOf(perSecond, burst)] as const);
  });
  const byMethod = new Map(rates);
  return byMethod.size > 0 && byMethod.size === rates?.length ? byMethod : undefined;
}

/** The form of the name of a plan. */
export const planPattern = '^[a-z0-9][a-z0-9-]{0,39}$';

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

/** Whether a text is a valid entry, by the reader of its list. */
const entryChecks = new WeakMap<object, (entry: string) => boolean>();

/** A reader of lists whose entries all have a form. */
export function listOf(form: RegExp | ((entry: string) => boolean)): (text: string) => readonly string[] | undefined {
  const matches = form instanceof RegExp ? (entry: string) => form.test(entry) : form;
  const read = (text: string): readonly string[] | undefined =>
    readEntries(text, (entry) => (matches(entry) ? entry : undefined));
  entryChecks.set(read, matches);
  return read;
}

/** The number of the first invalid entry of a list, from 1; undefined: another reason, or no list. @param read its reader */
export function invalidEntry(read: object, text: string): number | undefined {
  const matches = entryChecks.get(read);
  const index = matches === undefined ? -1 : entriesOf(text).findIndex((entry) => !matches(entry));
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

export function readWhole(text: string): number | undefined {
  return /^\d{1,13}$/.test(text) ? inRange(Number(text)) : undefined;
}

export function readDecimal(text: string): number | undefined {
  return /^\d{1,13}(\.\d{1,6})?$/.test(text) ? inRange(Number(text)) : undefined;
}

/** What the readers of numbers accept. Only numbers are shown in error texts: other values may be secrets. */
export const numberForms: ReadonlyMap<unknown, string> = new Map([
  [readWhole, `whole number from 1 to ${MAX_NUMBER}`],
  [readDecimal, `number above 0, to ${MAX_NUMBER}, with at most 6 decimals`],
]);

function inRange(number: number): number | undefined {
  return number > 0 && number <= MAX_NUMBER ? number : undefined;
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

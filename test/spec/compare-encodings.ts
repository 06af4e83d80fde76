import { strictAjv } from '../../gateway/spec/strict-ajv.ts';
import { inlineRefs } from '../../schemas/inline-refs.ts';
import type { JsonSchema, Types } from '../../schemas/json-schema.ts';
import type { Encoding, Tables } from './compare-tables.ts';

const ajv = strictAjv();
/** Compiled schemas by their text: mutations of a document differ in one of them. */
const compiled = new Map<string, (value: unknown) => boolean>();

interface Samples {
  readonly fits: readonly unknown[];
  readonly rejects: readonly unknown[];
}

/** The differences between the tables and the values that the value types accept, one sentence each. */
export function compareEncodings(tables: Tables, types: Types): string[] {
  return Object.entries(tables.encodings).flatMap(([name, encoding]) => compareEncoding(name, encoding, types));
}

function compareEncoding(name: string, encoding: Encoding, types: Types): string[] {
  const schema = types[encoding.type];
  if (schema === undefined) return [`${name}: there is no type ${encoding.type}`];
  const fits = compile(inlineRefs(schema, types));
  const samples = samplesOf(encoding);
  const pad = schema['x-gatehouse']?.pad;
  return [
    ...samples.fits.filter((value) => !fits(value)).map((value) => `${name}: rejects ${JSON.stringify(value)}`),
    ...samples.rejects.filter((value) => fits(value)).map((value) => `${name}: accepts ${JSON.stringify(value)}`),
    ...(pad === encoding.pad ? [] : [`${name}: is padded to ${pad ?? 'nothing'}, not to ${encoding.pad ?? 'nothing'}`]),
  ];
}

function compile(schema: JsonSchema): (value: unknown) => boolean {
  const text = JSON.stringify(schema);
  const known = compiled.get(text) ?? ajv.compile(schema);
  compiled.set(text, known);
  return known;
}

function samplesOf({ fits = [], rejects = [], bytes, digits }: Encoding): Samples {
  const hex =
    bytes === undefined && digits === undefined ? { fits: [], rejects: [] } : hexSamples(...counts(bytes, digits));
  return { fits: [...fits, ...hex.fits], rejects: [...rejects, ...hex.rejects] };
}

/** Numbers of digits that are valid, and numbers that are not. */
function counts(bytes: Encoding['bytes'], digits: Encoding['digits']): [number[], number[]] {
  if (bytes === 'any')
    return [
      [0, 2, 4, 64, 2048],
      [1, 3],
    ];
  const [min, max] = digits ?? [2 * (bytes ?? 0), 2 * (bytes ?? 0)];
  return [
    [min, max],
    [min - 1, max + 1],
  ];
}

/** Tests that strings with a valid number of digits are accepted in either case, and all others are not. */
function hexSamples(right: readonly number[], wrong: readonly number[]): Samples {
  const written = (count: number): string[] => ['0', 'a', 'F'].map((digit) => `0x${digit.repeat(count)}`);
  const max = Math.max(...right);
  const good = `0x${'1'.repeat(max)}`;
  return {
    fits: right.flatMap(written),
    rejects: [
      ...wrong.flatMap(written),
      ...[
        good.slice(2),
        good.replace('0x', '0X'),
        good.replace('0x', '-0x'),
        ` ${good}`,
        `${good}\n`,
        `${good.slice(0, -1)}g`,
      ],
      ...[1, null, true, [good], { value: good }],
    ],
  };
}

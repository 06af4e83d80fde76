import { describe, expect, it } from 'vitest';
import { networkOptions, upstreamOptions } from '../../gateway/network-files/options/network-options.ts';
import {
  chainIdentity,
  upstreamIdentity,
  type NetworkConfig,
  type UpstreamConfig,
} from '../../gateway/network-files/network-config.ts';
import type { Option, OptionSchema } from '../../gateway/network-files/options/option.ts';
import { configOf, diagnosticsIn } from './load.ts';

type Rows = Readonly<Record<string, Option<string>>>;
const tables: Readonly<Record<string, Rows>> = { networkOptions, upstreamOptions };
const rows = Object.entries(tables).flatMap(([table, options]) =>
  Object.entries(options).map(([name, option]) => ({ table, name, option })),
);
/** `url` is set in the file of these tests, and `methods` are selected by their default: diagnostics.test.ts tests them. */
const optional = rows.filter(
  ({ name, option }) => option.isRequired === undefined && name !== 'url' && name !== 'methods',
);
const upstream = { name: 'one', url: 'https://one.example' };

/** The members of a valid network file, with one option. */
function fileWith(table: string, option: object): object {
  return table === 'networkOptions'
    ? { name: 'Base', chainId: 1, upstreams: [upstream], ...option }
    : { name: 'Base', chainId: 1, upstreams: [{ ...upstream, ...option }] };
}

function diagnosticsWith(table: string, option: object): string[] {
  return diagnosticsIn({ 'base.yaml': JSON.stringify(fileWith(table, option)) }).map((line) =>
    line.replace(/^base\.yaml:\d+:\d+ /, ''),
  );
}

/** A map without a value has the defaults of its members. */
function defaultOf({ default: value, type, properties = {} }: OptionSchema): unknown {
  const members = Object.entries(properties).filter(([, member]) => member.default !== undefined);
  const ofMembers = Object.fromEntries(members.map(([name, member]) => [name, member.default]));
  return type === 'object' && value !== undefined ? { ...(value as object), ...ofMembers } : value;
}

describe('an option of a network file', () => {
  it.each(rows)('$table: $name has one diagnostic if its value has the wrong type', ({ table, name, option }) => {
    const isMap = option.type === 'object' || option.else?.type === 'object';
    const value = isMap ? 5 : { wrong: 'map' };
    const path = table === 'networkOptions' ? name : `upstreams[0].${name}`;
    // Only one of url and spawn is valid.
    const others = name === 'spawn' ? { url: undefined } : {};
    expect(diagnosticsWith(table, { ...others, [name]: value })).toEqual([
      expect.stringContaining(`${path}: expected ${option.title}`),
    ]);
  });

  it.each(optional)('$table: $name has its default, or no value, if the file has none', ({ table, name, option }) => {
    const network = configOf('base', fileWith(table, {}));
    const values = table === 'networkOptions' ? network : network.upstreams[0];
    expect(values).toHaveProperty('name');
    expect(values?.[name as keyof typeof values]).toEqual(defaultOf(option));
  });

  it.each(rows)(
    '$table: $name: a change replaces the $option.replaces, and nothing else',
    ({ table, name, option }) => {
      const [upstreamBefore, upstreamAfter] = changedIn<UpstreamConfig>('upstreamOptions', table, name);
      const [before, after] = changedIn<NetworkConfig>('networkOptions', table, name);
      expect(chainIdentity(before) === chainIdentity(after)).toBe(option.replaces !== 'chain');
      expect(upstreamIdentity(before, upstreamBefore) === upstreamIdentity(after, upstreamAfter)).toBe(
        !['chain', 'upstream'].includes(option.replaces),
      );
    },
  );
});

/** The values of a table before and after a change of one option, of this or another table. */
function changedIn<Values>(own: string, table: string, name: string): [Values, Values] {
  const before = { slug: 'base' };
  return [before, own === table ? { ...before, [name]: 'changed' } : before] as [Values, Values];
}

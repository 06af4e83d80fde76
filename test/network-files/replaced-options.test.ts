import { beforeAll, describe, expect, it } from 'vitest';
import { networkOptions, upstreamOptions } from '../../gateway/network-files/options/network-options.ts';
import { GatewayProgram } from '../structure/gateway-program.ts';

const table = 'gateway/network-files/options/network-options.ts';
/** The files that read options from the types of network-config.ts. */
const readers = [
  'gateway/call/charge.ts',
  'gateway/verify/evidence/audit-requests.ts',
  'gateway/networks/local-chains.ts',
  'gateway/networks/network.ts',
  'gateway/networks/open-transport.ts',
  'gateway/routing-policy/permitted-upstreams.ts',
  'gateway/routing/failsafe-table.ts',
  'gateway/routing/ranking.ts',
  'gateway/server/http/rpc-request.ts',
  'gateway/server/pages/network-facts.ts',
  'gateway/upstreams/upstream.ts',
];
/** The type of each value of `replaces`, and the value that is wrong for its options. */
const kinds = {
  upstream: { type: 'FixedUpstreamOptions', wrong: 'nothing' },
  nothing: { type: 'LiveUpstreamOptions', wrong: 'upstream' },
  chain: { type: 'ChainConfig', wrong: 'network' },
  network: { type: 'ReplaceableConfig', wrong: 'chain' },
} as const;
const rows = [...Object.entries(upstreamOptions), ...Object.entries(networkOptions)].map(
  ([name, { replaces }]) => [name, replaces] as const,
);

/** The options that code reads from a type that does not have them. */
function missingOptions(edit: (text: string, file: string) => string): string[] {
  const program = new GatewayProgram(edit);
  const errors = readers.flatMap((file) => program.errorsIn(file));
  // The program has no types of packages: what a class of Node has is missing, too.
  const types = Object.values(kinds).map(({ type }) => `does not exist on type '${type}'.`);
  return errors.filter((error) => types.some((end) => error.endsWith(end)));
}

function withWrongReplaces(text: string): string {
  return text.replace(/(?<=(?:^ {4}|, )replaces: ')\w+/gm, (replaces) => kinds[replaces as keyof typeof kinds].wrong);
}

describe('`replaces` of an option', { timeout: 120_000 }, () => {
  let missing: readonly string[];
  beforeAll(() => {
    missing = missingOptions((text, file) => (file === table ? withWrongReplaces(text) : text));
  }, 120_000);

  it.each(rows)('of %s does not compile if it is not %s', (name, replaces) => {
    const { type } = kinds[replaces];
    const step = `${table}: nothing checks \`replaces\` of ${name}: read the option from ${type} in one of ${readers.join(', ')}`;
    expect(missing, step).toContain(`Property '${name}' does not exist on type '${type}'.`);
  });
});

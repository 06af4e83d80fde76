import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keccak256, toRlp } from 'viem';
import { describe, expect, it } from 'vitest';
import { checkHeader } from '../../../gateway/verify/proofs/check-header.ts';
import { HeaderChecks } from '../../../gateway/verify/header-checks.ts';
import { packageRoot } from '../../../gateway/config/package.ts';
import { parseHeader } from '../../../gateway/chain/header.ts';
import { startAnvil } from '../../support/anvil.ts';

type Block = Readonly<Record<string, unknown>>;

const recorded = JSON.parse(readFileSync(join(packageRoot, 'test/verify/proofs/recorded-headers.json'), 'utf8')) as {
  readonly blocks: Readonly<Record<string, Block>>;
};
const blocks = Object.entries(recorded.blocks);
const osaka = recorded.blocks['Osaka'] as Block;
const other = `0x${'ab'.repeat(32)}`;
const none = { view: { at: () => undefined, has: () => false } };

describe.each(blocks)("geth's header of the fork %s", (_, block) => {
  it('has the hash of its members', () => {
    expect(checkHeader(block)).toBe('verified');
  });

  it('is wrong with any other value of a member that is hashed', () => {
    const unhashed = ['hash', 'size', 'transactions', 'uncles', 'totalDifficulty'];
    const hashed = Object.keys(block).filter((name) => !unhashed.includes(name));
    expect(hashed.length).toBeGreaterThan(14);
    for (const name of hashed) {
      const value = String(block[name]);
      const changed = value === '0x' ? '0x01' : value.replace(/.$/, (digit) => (digit === '1' ? '2' : '1'));
      expect([name, checkHeader({ ...block, [name]: changed })]).toEqual([name, 'mismatch']);
    }
  });
});

describe('a header', () => {
  it('may have other spellings of the same values, and members that are not hashed', () => {
    const spelled = { ...osaka, hash: String(osaka['hash']).toUpperCase().replace('0X', '0x'), number: '0x0036' };
    expect(checkHeader({ ...spelled, totalDifficulty: null, author: osaka['miner'] })).toBe('verified');
    expect(checkHeader({ ...osaka, l1BlockNumber: '0x1' })).toBe('verified');
  });

  it.each([
    ['has an unknown member, which may be hashed', { hash: other, extDataHash: other }],
    ['lacks a member of all forks', { mixHash: null }],
    ['lacks a member of a fork, and has later ones', { withdrawalsRoot: undefined }],
    ['has a value that is not hexadecimal', { stateRoot: 'no' }],
    ['has no hash, because it is pending', { hash: null }],
  ])('is of an unknown form, not wrong, if it %s', (_, change) => {
    expect(checkHeader({ ...osaka, ...change })).toBe('unknown-form');
  });

  it('of Amsterdam has the members of EIP-7928 and EIP-7843 at its end', () => {
    const order =
      'parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom difficulty number gasLimit gasUsed ' +
      'timestamp extraData mixHash nonce baseFeePerGas withdrawalsRoot blobGasUsed excessBlobGas parentBeaconBlockRoot ' +
      'requestsHash blockAccessListHash slotNumber';
    const block: Block = { ...osaka, blockAccessListHash: other, slotNumber: '0x1f4' };
    // viem's RLP, which is another implementation.
    const items = order.split(' ').map((name) => bytesOf(name, String(block[name])));
    expect(checkHeader({ ...block, hash: keccak256(toRlp(items)) })).toBe('verified');
    expect(checkHeader({ ...block, hash: other })).toBe('mismatch');
  });

  it("of anvil's newest block has the hash of its members", { timeout: 60_000 }, async () => {
    const anvil = await startAnvil();
    try {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(anvil.url, { method: 'POST', headers, body });
      const { result } = (await response.json()) as { result: Block };
      expect(checkHeader(result)).toBe('verified');
      expect(checkHeader({ ...result, stateRoot: other })).toBe('mismatch');
    } finally {
      await anvil.stop();
    }
  });
});

describe('the headers of a network', () => {
  const result = (block: Block) => ({ kind: 'result', result: block }) as const;
  const wrong = { ...osaka, stateRoot: other };

  it('are wrong only once another one was verified: some chains hash other members', () => {
    const checks = new HeaderChecks(none);
    expect(checks.check(result(wrong))).toBe('unknown');
    expect(checks.check(result(osaka))).toBe('verified');
    expect(checks.check(result(wrong))).toBe('wrong-hash');
    expect(checks.check({ kind: 'result', result: '0x1' })).toBe('unknown');
  });

  it('are not wrong if one lacks the last members, which other upstreams have', () => {
    const cancun = recorded.blocks['Cancun'] as Block;
    const withoutLast = { ...osaka, requestsHash: undefined };
    const checks = new HeaderChecks(none);
    // An older header, of the fork that has these members only.
    expect(checks.check(result({ ...cancun, number: '0x1' }))).toBe('unknown');
    expect(checks.check(result(cancun))).toBe('verified');
    const later = { ...withoutLast, number: `0x${(Number(cancun['number']) + 1).toString(16)}` };
    expect(checks.check(result(later))).toBe('unknown');
    expect(checks.check(result(osaka))).toBe('verified');
    expect(checks.check(result(later))).toBe('unknown');
    expect(checks.check(result({ ...osaka, stateRoot: other }))).toBe('wrong-hash');
  });

  it('have the parents of the followed chain, also if their hashes cannot be computed', () => {
    const header = parseHeader(osaka);
    const parent = parseHeader({ ...osaka, number: '0x35', hash: other });
    const at = (number: bigint) => (number === 0x36n ? header : number === 0x35n ? parent : undefined);
    const checks = new HeaderChecks({ view: { at, has: (hash) => hash === header?.hash } });
    expect(checks.check(result({ ...osaka, unknownMember: '0x1' }))).toBe('wrong-parent');
    expect(checks.check(result({ ...osaka, unknownMember: '0x1', parentHash: other }))).toBe('unknown');
    // A block of another branch shows nothing.
    expect(checks.check(result({ ...osaka, unknownMember: '0x1', hash: other }))).toBe('unknown');
  });
});

const numbers = 'difficulty number gasLimit gasUsed timestamp baseFeePerGas blobGasUsed excessBlobGas slotNumber'.split(
  ' ',
);

function bytesOf(name: string, hex: string): `0x${string}` {
  if (!numbers.includes(name)) return hex as `0x${string}`;
  const digits = BigInt(hex).toString(16);
  return BigInt(hex) === 0n ? '0x' : `0x${digits.padStart(digits.length + (digits.length % 2), '0')}`;
}

import fc from 'fast-check';
import { concat, fromRlp, keccak256, toHex, toRlp, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { decodeTransaction } from '../../../gateway/upstreams/transactions/decode-transaction.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/** The same transactions in every run. */
const seed = 20_260_418;

const bytesOf = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => toHex(bytes));
const amount = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 2n ** 90n }));
const privateKey = fc.bigInt({ min: 1n, max: 2n ** 250n }).map((key) => toHex(key, { size: 32 }));
const address = bytesOf(20, 20);
const word = bytesOf(32, 32);
const common = {
  nonce: fc.oneof(fc.constant(0), fc.nat({ max: 2 ** 40 })),
  gas: fc.bigInt({ min: 0n, max: 2n ** 40n }),
  value: amount,
  // RLP encodes lengths differently from 56 and from 256 bytes on.
  data: fc.oneof(bytesOf(0, 2), bytesOf(40, 60), bytesOf(250, 300), fc.constant<Hex>('0x7f'), fc.constant<Hex>('0x80')),
};
const chainId = fc.oneof(fc.constantFrom(1, 10, 127, 128, 31_337), fc.integer({ min: 1, max: 2 ** 40 }));
const accessList = fc.array(fc.record({ address, storageKeys: fc.array(word, { maxLength: 3 }) }), { maxLength: 2 });
const to = fc.option(address);
const fees = { maxFeePerGas: fc.constant(2n ** 80n), maxPriorityFeePerGas: fc.bigInt({ min: 0n, max: 2n ** 80n }) };
const blobVersionedHashes = fc.array(
  bytesOf(31, 31).map((hash) => concat(['0x01', hash])),
  { minLength: 1, maxLength: 3 },
);

type Account = ReturnType<typeof privateKeyToAccount>;

/** Compares hash, nonce and sender with viem's, for many transactions that `make` signs. */
async function agrees<T extends { readonly nonce: number }>(
  fields: fc.Arbitrary<T>,
  make: (account: Account, fields: T) => Promise<SignedBytes>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(privateKey, fields, async (key, given) => {
      const account = privateKeyToAccount(key);
      const { raw, hashed = raw } = await make(account, given);
      const transaction = decodeTransaction(raw);
      expect(transaction?.hash).toBe(keccak256(hashed));
      expect(transaction?.nonce).toBe(BigInt(given.nonce));
      expect(transaction?.sender()).toBe(account.address.toLowerCase());
    }),
    { seed, numRuns: propertyRuns(60) },
  );
}

interface SignedBytes {
  readonly raw: Hex;
  /** The hashed bytes, if they are not the whole. */
  readonly hashed?: Hex;
}

const signed = async (account: Account, fields: object): Promise<SignedBytes> => ({
  raw: await account.signTransaction(fields),
});

describe('hash and sender agree with viem for', () => {
  const legacy = { type: fc.constant('legacy' as const), ...common, to, gasPrice: amount };

  it('legacy transactions with a chain id (EIP-155)', () => agrees(fc.record({ ...legacy, chainId }), signed));

  it('legacy transactions without one', () => agrees(fc.record(legacy), signed));

  it('type 1', () =>
    agrees(fc.record({ ...common, type: fc.constant('eip2930'), to, gasPrice: amount, chainId, accessList }), signed));

  it('type 2', () =>
    agrees(fc.record({ ...common, ...fees, type: fc.constant('eip1559'), to, chainId, accessList }), signed));

  const blob = fc.record({
    ...common,
    ...fees,
    type: fc.constant('eip4844'),
    to: address,
    chainId,
    accessList,
    maxFeePerBlobGas: amount,
    blobVersionedHashes,
  });

  it('type 3 without its blobs', () => agrees(blob, signed));

  it('type 3 with its blobs, which are not hashed', () =>
    agrees(blob, async (account, fields) => {
      const sidecar = { blob: toHex(new Uint8Array(500)), commitment: word48, proof: word48 };
      const { raw: hashed } = await signed(account, fields);
      const { raw } = await signed(account, { ...fields, sidecars: fields.blobVersionedHashes.map(() => sidecar) });
      expect(raw.length).toBeGreaterThan(hashed.length + 1000);
      return { raw, hashed };
    }));

  it('type 3 with its blobs and cell proofs (EIP-7594)', () =>
    agrees(blob, async (account, fields) => {
      const { raw: hashed } = await signed(account, fields);
      const body = fromRlp(`0x${hashed.slice(4)}`);
      const raw = concat(['0x03', toRlp([body as Hex[], '0x01', [word48], [word48], [word48, word48]])]);
      return { raw, hashed };
    }));

  it('type 4', () => {
    const authorization = fc.record({ key: privateKey, contractAddress: address, chainId, nonce: fc.nat() });
    const authorizations = fc.array(authorization, { minLength: 1, maxLength: 2 });
    const fields = fc.record({
      ...common,
      ...fees,
      type: fc.constant('eip7702'),
      to: address,
      chainId,
      accessList,
      authorizations,
    });
    return agrees(fields, async (account, { authorizations, ...given }) => {
      const authorizationList = await Promise.all(
        authorizations.map(({ key, ...authorization }) => privateKeyToAccount(key).signAuthorization(authorization)),
      );
      return signed(account, { ...given, authorizationList });
    });
  });
});

describe('decoding returns undefined for', () => {
  it.each([
    ['nothing', '0x'],
    ['another type, zkSync Era’s', `0x71${toRlp(['0x01', '0x02']).slice(2)}`],
    ['a type byte of zero', `0x00${toRlp(members(9)).slice(2)}`],
    ['too few members', toRlp(members(8))],
    ['too many members', `0x02${toRlp(members(13)).slice(2)}`],
    ['a text in place of a list', '0x0283010203'],
    ['a list that is longer than the bytes', '0x02c401'],
    ['a length of eight bytes', `0x02ff${'ff'.repeat(8)}`],
    ['bytes after the end', `${toRlp(members(9))}00`],
  ])('%s', (_, raw) => {
    expect(decodeTransaction(raw)).toBeUndefined();
  });

  it('random bytes, without an error', () => {
    const starts = fc.constantFrom('', '01', '02', '03', '04', 'f8', 'c9');
    const decodeRandom = fc.property(fc.uint8Array({ maxLength: 200 }), starts, (bytes, start) => {
      decodeTransaction(`0x${start}${toHex(bytes).slice(2)}`)?.sender();
    });
    const numRuns = propertyRuns(5_000);
    expect(fc.check(decodeRandom, { seed, numRuns })).toMatchObject({ failed: false, numRuns });
  });

  it('the sender, if the signature is malformed', async () => {
    const account = privateKeyToAccount(toHex(7n, { size: 32 }));
    const raw = await account.signTransaction({ type: 'legacy', chainId: 1, gas: 21_000n, gasPrice: 1n });
    const members = fromRlp(raw) as Hex[];
    const zero = decodeTransaction(toRlp([...members.slice(0, 7), '0x', '0x']));
    expect(zero?.hash).toMatch(/^0x[0-9a-f]{64}$/);
    expect(zero?.sender()).toBeUndefined();
    const parity = decodeTransaction(toRlp([...members.slice(0, 6), '0x', ...members.slice(7)]));
    expect(parity?.sender()).toBeUndefined();
  });
});

it('a list of a million items in a transaction is skipped by its length', () => {
  const list = concat(['0xfa', '0x0f4240', `0x${'c0'.repeat(1_000_000)}`]);
  const items = concat([...Array<Hex>(11).fill('0x01'), list]);
  const size = (items.length - 2) / 2;
  expect(decodeTransaction(concat([toHex(0xfa), toHex(size, { size: 3 }), items]))).toBeUndefined();
  const nine = concat([...Array<Hex>(8).fill('0x01'), list]);
  const whole = concat([toHex(0xfa), toHex((nine.length - 2) / 2, { size: 3 }), nine]);
  expect(decodeTransaction(whole)?.hash).toBe(keccak256(whole));
});

function members(count: number): Hex[] {
  return Array<Hex>(count).fill('0x01');
}

const word48: Hex = toHex(new Uint8Array(48).fill(7));

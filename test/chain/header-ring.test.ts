import { expect, it } from 'vitest';
import { parseHeader, type Header } from '../../gateway/chain/header.ts';
import { HeaderRing } from '../../gateway/chain/header-ring.ts';
import { ScriptedChain } from './scripted-chain.ts';

const MAX_HEADERS = 4;

/** Headers of consecutive blocks, from 100. */
function headersOf(chain: ScriptedChain): Header[] {
  const headers: Header[] = [];
  for (let number = 100; ; number++) {
    const header = parseHeader(chain.byNumber(`0x${number.toString(16)}`));
    if (header === undefined) return headers;
    headers.push(header);
  }
}

it('a header ring remembers as many blocks as it holds that were removed, and their children, until they are added again', () => {
  const ring = new HeaderRing(MAX_HEADERS);
  const chain = new ScriptedChain();
  chain.mine(5);
  const headers = headersOf(chain) as [Header, Header, Header, Header, Header, Header];
  const [base, first, second, third, child] = headers;
  ring.restartAt(base, 0);
  ring.extend([first, second, third], 0);
  expect(headers.some((header) => ring.hasRemoved(header))).toBe(false);
  ring.cutAbove(base.hash);
  expect(headers.map((header) => ring.hasRemoved(header))).toEqual([false, true, true, true, true, false]);
  ring.extend([first], 0);
  expect([first, second, third, child].map((header) => ring.hasRemoved(header))).toEqual([false, true, true, true]);
  for (let branch = 0; branch <= MAX_HEADERS; branch++) {
    const other = chain.copy();
    other.reorganise(5, 1);
    ring.extend(headersOf(other).slice(1), 0);
  }
  // Forgotten, else memory grows with each reorg.
  expect(headers.some((header) => ring.hasRemoved(header))).toBe(false);
});

it.each([1, 3])('a header ring has its newest headers only, after branches of %i', (length) => {
  const ring = new HeaderRing(MAX_HEADERS);
  const chain = new ScriptedChain();
  chain.mine(9);
  const headers = headersOf(chain);
  const [first, ...later] = headers;
  if (first === undefined) throw new Error('there is no header');
  ring.restartAt(first, 0);
  for (let at = 0; at < later.length; at += length) ring.extend(later.slice(at, at + length), 0);
  const held = headers.slice(-MAX_HEADERS);
  expect([ring.headers.oldest, ring.headers.head]).toEqual([held[0], held.at(-1)]);
  expect(headers.filter(({ number }) => ring.headers.at(number) !== undefined)).toEqual(held);
  // The hashes are forgotten too, else memory grows with each block.
  expect(headers.filter(({ hash }) => ring.headers.has(hash))).toEqual(held);
});

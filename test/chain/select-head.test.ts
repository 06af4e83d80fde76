import { describe, expect, it } from 'vitest';
import { Headers } from '../../gateway/chain/header-ring.ts';
import { parseHeader, type Header, type SeenHead } from '../../gateway/chain/header.ts';
import { selectHead, type Report, type Standing } from '../../gateway/chain/select-head.ts';
import { UpstreamBlocks } from '../../gateway/chain/upstream-blocks.ts';
import { ScriptedChain } from './scripted-chain.ts';

const BLOCK_S = 12;
const HOUR = 3_600;
const now = 1_700_000_000;
const noChain = new Headers([], new Map());

/** @param age of the block in seconds, if known */
function head(number: number | bigint, age?: number): SeenHead {
  const timestamp = age === undefined ? undefined : BigInt(now - age);
  return { number: BigInt(number), timestamp, gasLimit: undefined, header: undefined, at: 0 };
}

/** Heads without hashes, each of its own group, of which none is known to be current. */
const selected = (
  heads: readonly SeenHead[],
  blockMs = BLOCK_S * 1_000,
  unixMs?: number,
  followed = noChain,
): number => {
  const reports = heads.map((one, index): Report => {
    return {
      group: String(index),
      head: one,
      roseAt: -Infinity,
      movedAt: -Infinity,
      linkedFrom: 0n,
      hashes: new Map(),
      isMarked: false,
      isUncertain: false,
    };
  });
  return Number(selectHead(reports, followed, blockMs, 0, unixMs).head?.head.number ?? -1);
};

describe('the head of upstreams of which none is known to be current', () => {
  it.each([
    ['unknown, if no head is known', [], -1],
    ['the only head, whatever its number', [head(10n ** 18n)], 10 ** 18],
    ['the highest of close heads', [head(1_000), head(1_002), head(1_001)], 1_002],
    ['not a single absurd number', [head(1_000), head(10n ** 18n), head(1_001)], 1_001],
    ['not one absurd number beside one other head', [head(1_000, 12), head(10n ** 18n, 0)], 1_000],
    ['not a number thousands of blocks above with the same timestamp', [head(1_000, 12), head(9_000, 0)], 1_000],
    ['the highest, if its timestamp is as much newer', [head(700, HOUR), head(1_000), head(1_000, 0)], 1_000],
    ['the highest, if the majority is stuck', [head(700, HOUR), head(1_000, 0), head(700, HOUR)], 1_000],
    ['not that of an upstream that is syncing', [head(1_000_000, 0), head(100_000, 900_000 * 12)], 1_000_000],
  ] as const)('is %s', (_, heads, number) => {
    expect(selected(heads)).toBe(number);
  });

  it.each([
    ['not that of a faster chain behind the same address', [head(1_000, 5), head(300_000, 1)], 999n, 1_000],
    ['the one that continues from the followed head, without timestamps', [head(1_000), head(2_000)], 1_990n, 2_000],
    ['not one far above two others, even if it continues', [head(1_000), head(1_001), head(2_000)], 1_999n, 1_001],
    ['lower, if all heads are lower', [head(3), head(2)], 1_000n, 3],
    ['the followed one, while one upstream has it', [head(3), head(1_000)], 1_000n, 1_000],
  ] as const)('is %s', (_, heads, number, expected) => {
    const followed = new Headers([{ ...(parseHeader(new ScriptedChain().head) as Header), number }], new Map());
    expect(selected(heads, BLOCK_S * 1_000, undefined, followed)).toBe(expected);
  });

  it('depends on the block time of the network', () => {
    const heads = [head(1_000, 60), head(1_200, 0)];
    expect([selected(heads, 250), selected(heads, 12_000)]).toEqual([1_200, 1_000]);
  });

  it('is that of the others, if the blocks of all are young and one is far above', () => {
    const heads = [head(1_000, 5), head(1_012, 0), head(1_001, 2)];
    expect([selected(heads), selected(heads, BLOCK_S * 1_000, now * 1_000)]).toEqual([1_012, 1_001]);
  });
});

/** Unix time of block 110. */
const FIRST_MS = (1_700_000_000 + 10 * BLOCK_S) * 1_000;

/** Nodes that report their heads, and the chain that is followed. */
class Network {
  readonly #nodes = new Map<string, { readonly chain: ScriptedChain; readonly known: UpstreamBlocks<string> }>();
  readonly #groups: Readonly<Record<string, string>>;
  readonly #main: ScriptedChain;
  followed: Headers;
  at = 0;

  /** Nodes of one chain, in order of preference; each is a group, unless it is named here. */
  constructor(names: string, groups: Readonly<Record<string, string>> = {}) {
    this.#groups = groups;
    this.#main = new ScriptedChain();
    this.#main.mine(10);
    for (const name of names) this.#nodes.set(name, { chain: this.#main.copy(), known: new UpstreamBlocks(name) });
    this.followed = noChain;
    this.report(names);
    this.mine(names);
    this.follow(names[0] ?? '');
  }

  node(name: string): { readonly chain: ScriptedChain; readonly known: UpstreamBlocks<string> } {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    return node;
  }

  /** The same blocks at all of these, a block time later, which then report their heads. */
  mine(names: string, count = 1): this {
    const [first = ''] = names;
    this.at += BLOCK_S * 1_000;
    this.node(first).chain.mine(count);
    for (const name of names.slice(1)) {
      const { chain } = this.node(first);
      const { known } = this.node(name);
      this.#nodes.set(name, { chain: chain.copy(), known });
    }
    return this.report(names);
  }

  /** The node has other blocks in place of its newest ones. */
  fork(name: string, depth: number, count = depth): this {
    if (depth > 0) this.node(name).chain.goBack(depth);
    this.node(name).chain.mine(count);
    return this.report(name);
  }

  /** The second node has the chain of the first one. */
  copy(from: string, to: string): this {
    this.#nodes.set(to, { chain: this.node(from).chain.copy(), known: this.node(to).known });
    return this.report(to);
  }

  report(names: string): this {
    this.at++;
    for (const name of names) {
      const { chain, known } = this.node(name);
      const header = parseHeader(chain.head) as Header;
      known.set({ number: header.number, header, timestamp: BigInt(chain.head.timestamp) }, this.at);
    }
    return this;
  }

  /** Block of this number is fetched. */
  learn(name: string, number: number): this {
    const { chain, known } = this.node(name);
    known.learnAncestors([parseHeader(chain.byNumber(`0x${number.toString(16)}`)) as Header]);
    return this;
  }

  mark(name: string): this {
    this.node(name).known.marks.mark = { number: 111n, at: this.at };
    return this;
  }

  /** Follows the chain of a node. */
  follow(name: string): this {
    const { chain } = this.node(name);
    const list: Header[] = [];
    for (let number = 100n; number <= chain.number; number++)
      list.push(parseHeader(chain.byNumber(`0x${number.toString(16)}`)) as Header);
    const places = list.map(({ hash, number }) => {
      return [hash, { number, since: this.followed.has(hash) ? this.followed.since(number) : this.at }] as const;
    });
    this.followed = new Headers(list, new Map(places));
    return this;
  }

  select(names = [...this.#nodes.keys()].join('')) {
    const reports = names
      .split('')
      .flatMap((name) => this.node(name).known.reportFor(this.#groups[name] ?? name) ?? []);
    const { head, leaves, standings, disputedAt, late } = selectHead(
      reports,
      this.followed,
      BLOCK_S * 1_000,
      this.at,
      FIRST_MS + this.at,
    );
    return {
      head: `${head?.known.upstream} ${head?.head.number}`,
      leaves,
      standings: Object.fromEntries([...standings].map(([{ known }, standing]) => [known.upstream, standing])),
      disputedAt,
      late: late.map(({ known }) => known.upstream),
    };
  }
}

const lost = (leftAt: bigint): Standing => ({ leftAt, hasLost: true });

describe('the head of several groups, by what each upstream has reported', () => {
  it('one group raises it by one block, and no more', () => {
    const network = new Network('abc').fork('c', 0, 1);
    expect(network.select()).toMatchObject({ head: 'c 112', standings: {} });
    network.fork('c', 0, 1);
    expect(network.select()).toMatchObject({ head: 'a 111', standings: { c: { aheadOf: 111n } }, late: ['a', 'b'] });
    // Two groups raise it by as much as they have.
    network.copy('c', 'b');
    expect(network.select()).toMatchObject({ head: 'b 113', standings: {} });
  });

  it('two upstreams of one group have one vote', () => {
    const network = new Network('abc', { b: 'x', c: 'x' }).mine('bc', 12);
    expect(network.select()).toMatchObject({
      head: 'a 111',
      standings: { b: { aheadOf: 111n }, c: { aheadOf: 111n } },
    });
  });

  it('a branch that two groups do not have loses at once, from the height where it begins', () => {
    const network = new Network('abc').fork('c', 0, 1).follow('c');
    network.mine('ab');
    expect(network.select('ca')).toMatchObject({ head: 'c 112', leaves: undefined, disputedAt: 112n });
    expect(network.select('cab')).toMatchObject({ head: 'a 112', leaves: 'lost', standings: { c: lost(112n) } });
    network.follow('a').fork('c', 0, 12);
    expect(network.select('cab')).toMatchObject({
      head: 'a 112',
      leaves: undefined,
      standings: { c: { aheadOf: 111n } },
    });
    network.learn('c', 112);
    expect(network.select('cab')).toMatchObject({ head: 'a 112', leaves: undefined, standings: { c: lost(112n) } });
  });

  it('two upstreams of one group do not outvote another one', () => {
    const network = new Network('abc', { b: 'x', c: 'x' }).fork('a', 0, 1).follow('a').mine('bc');
    expect(network.select()).toMatchObject({ head: 'a 112', leaves: undefined, disputedAt: 112n });
  });

  it('of two groups that disagree, the branch that was followed stays, also if the other one is higher', () => {
    const network = new Network('ab').fork('b', 0, 1).follow('b').mine('a', 2);
    expect(network.select()).toMatchObject({ head: 'b 112', standings: { a: { leftAt: 112n } }, disputedAt: 112n });
  });

  it('a branch that no upstream has any more is replaced', () => {
    const network = new Network('ab').fork('a', 0, 2).follow('a').fork('a', 2, 3);
    expect(network.select()).toMatchObject({ leaves: 'gone' });
  });

  it('a reorg is followed when a second group has it', () => {
    const network = new Network('abc').fork('a', 5, 6);
    expect(network.select()).toMatchObject({ head: 'b 111', leaves: undefined, standings: { a: lost(111n) } });
    network.copy('a', 'b');
    expect(network.select()).toMatchObject({ head: 'a 112', leaves: 'lost', standings: { c: lost(111n) } });
  });

  it('a branch has no vote if it does not grow', () => {
    const network = new Network('ab').fork('b', 0, 1).follow('b');
    for (let block = 0; block < 6; block++) network.mine('a').report('b');
    expect(network.select()).toMatchObject({ head: 'a 117', leaves: undefined });
  });

  it('against the followed branch, groups that have stood still since it began have no vote, until they move', () => {
    const network = new Network('abc').fork('c', 2, 3).follow('c');
    expect(network.select()).toMatchObject({ head: 'c 112', leaves: undefined, disputedAt: undefined });
    network.mine('a');
    expect(network.select()).toMatchObject({ head: 'c 112', leaves: undefined, disputedAt: 110n });
    network.copy('a', 'b');
    expect(network.select()).toMatchObject({ head: 'a 112', leaves: 'lost', standings: { c: lost(110n) } });
  });

  it('an upstream that has followed blocks since it left a branch has no vote for that', () => {
    const network = new Network('abc').fork('b', 0, 2).copy('b', 'c').mine('a', 9).follow('a').copy('a', 'b');
    network.fork('b', 0, 2).fork('c', 0, 7);
    expect(network.select()).toMatchObject({ head: 'a 120', leaves: undefined, standings: { c: { leftAt: 112n } } });
  });

  it('what one reported before a gap neither replaces the followed branch nor keeps it from raising the head', () => {
    const network = new Network('abc').fork('c', 0, 2).mine('b', 4).follow('b');
    for (let block = 0; block < 5; block++) network.at += BLOCK_S * 1_000;
    network.node('a').chain.goBack(1);
    network.report('a').fork('a', 0, 8).fork('c', 0, 10);
    expect(network.select()).toMatchObject({ leaves: undefined, disputedAt: undefined });
    expect(network.select().standings).not.toHaveProperty('c.leftAt');
  });

  it('a branch is not left for one whose height is below the retained hashes of the followed one', () => {
    const network = new Network('ab').fork('a', 0, 2);
    for (let block = 0; block < 40; block++) network.mine('b');
    network.follow('b').fork('a', 0, 35);
    expect(network.select()).toMatchObject({ head: 'b 151', leaves: undefined, standings: { a: { leftAt: 112n } } });
  });

  it('an upstream that is stuck or syncing does not lower the head', () => {
    const stuck = new Network('ab');
    for (let block = 0; block < 5; block++) stuck.report('b').mine('a', 20);
    expect(stuck.select()).toMatchObject({ head: 'a 211', standings: {} });
    const syncing = new Network('ab');
    syncing.at += 99 * BLOCK_S * 1_000;
    syncing.mine('a', 100);
    syncing.node('b').chain.mine(2);
    syncing.report('b');
    expect(syncing.select().head).toBe('a 211');
  });

  it('an upstream that is marked does not raise it', () => {
    const network = new Network('abc').mark('c').fork('c', 0, 1);
    expect(network.select()).toMatchObject({ head: 'a 111', standings: { c: { aheadOf: 111n } }, late: [] });
  });

  it('one that is marked does not give the block of a height of which only the number is known from others', () => {
    for (const order of ['cab', 'abc']) {
      const network = new Network(order).mark('c').fork('c', 0, 1);
      network.node('a').known.set({ number: 112n }, network.at);
      expect(network.select()).toMatchObject({ head: 'a 112', standings: { c: { aheadOf: 111n } } });
    }
  });

  it('a number that one returned shows no branch: it is held by the heads of the others', () => {
    const network = new Network('abc').fork('c', 0, 1).mine('ab').follow('a');
    network.node('c').known.set({ number: 120n }, network.at);
    expect(network.select()).toMatchObject({ head: 'a 112', standings: { c: { aheadOf: 111n } } });
  });

  it('after rare polls, the first one to respond does not raise it by more than the others have grown meanwhile', () => {
    const network = new Network('abc');
    network.at += 4 * BLOCK_S * 1_000;
    expect(network.fork('c', 0, 12).select()).toMatchObject({ head: 'a 111', standings: { c: { aheadOf: 111n } } });
    expect(new Network('abc').mine('c', 1).select().head).toBe('c 112');
  });

  it('an upstream is on the branch again when its newest block is followed', () => {
    const network = new Network('abc').fork('c', 0, 1).fork('c', 0, 1).fork('c', 0, 1).mine('ab').follow('a');
    expect(network.select().standings).toEqual({ c: lost(112n) });
    network.mine('abc', 4).follow('a');
    expect(network.select().standings).toEqual({});
  });
});

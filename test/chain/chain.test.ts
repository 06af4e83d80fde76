import { describe, expect, it } from 'vitest';
import { Chain, type Effect, type ServedBlock } from '../../gateway/chain/chain.ts';
import type { WitnessRule } from '../../gateway/chain/witness-tracker.ts';
import type { ChainChange } from '../../gateway/chain/header-ring.ts';
import { parseBlock, parseHeader, type Header } from '../../gateway/chain/header.ts';
import { ScriptedChain } from './scripted-chain.ts';

/*
 * The five rules of docs/consistency.md, as sequences of events of the state machine and what the view is then. Nothing is
 * sent here, and no time passes but that of the events.
 */

const options = {
  ...{ isDevelopment: false, minLowerMs: 1_000, pauseMs: 30_000, inUseMs: 15_000 },
  groupOf: (upstream: string) => upstream,
};
const oneGroup = { groupOf: () => 'one' };

type Fetch = Extract<Effect<string>, { kind: 'fetch' }>;
type Verify = Extract<Effect<string>, { kind: 'verify' }>;

/** The hash of a block of another branch. */
const other = `0x${'e'.repeat(64)}`;

/** A network of these nodes, watched, after a poll of each. An event is 100 ms after the one before. */
class Network {
  readonly chain: Chain<string>;
  readonly nodes: Record<string, ScriptedChain>;
  readonly changes: ChainChange[] = [];
  /** Upstreams to poll because their head may be replaced, and upstreams whose chain id must be checked. */
  readonly asked: string[] = [];
  /** Requests after `hold`: fetches and checks of chain ids that are not answered yet, in order. */
  #held: (Fetch | Verify)[] | undefined;
  at = 1_000;

  constructor(nodes: Record<string, ScriptedChain>, more: object = {}, witnesses?: WitnessRule) {
    this.chain = new Chain<string>({ ...options, ...more });
    this.nodes = nodes;
    this.chain.replaceUpstreams(Object.keys(nodes), witnesses);
    this.chain.used(this.at);
    this.chain.watched(true, this.at);
    this.poll();
  }

  /** Polls these nodes, or all. */
  poll(...names: string[]): this {
    for (const name of names.length > 0 ? names : Object.keys(this.nodes)) {
      const block = parseBlock(this.nodes[name]?.head);
      if (block === undefined) throw new Error(`there is no node ${name}`);
      const sentAt = this.at;
      this.at += 100;
      this.#handle(this.chain.seen(name, block, { by: 'poll', sentAt }, this.at));
    }
    return this;
  }

  /** The node has this many blocks more. */
  mine(name: string, count = 1): this {
    this.nodes[name]?.mine(count);
    return this;
  }

  fail(...names: string[]): void {
    for (const name of names) this.#handle(this.chain.gone(name, 'no-response', (this.at += 100)));
  }

  leave(...names: string[]): void {
    this.#handle(this.chain.left(names, (this.at += 100)));
  }

  /** From now on, `answerFetch` and `answerVerify` answer. */
  hold(): void {
    this.#held = [];
  }

  /** Answers the fetch in progress. @param branch undefined: what its upstream has */
  answerFetch(branch?: 'unknown'): this {
    const fetch = this.#release((effect): effect is Fetch => effect.kind === 'fetch');
    this.#handle(this.chain.fetched(branch ?? this.#branchTo(fetch), (this.at += 100)));
    return this;
  }

  /** The chain id of the upstream is right. */
  answerVerify(name: string): this {
    this.#release((effect): effect is Verify => effect.kind === 'verify' && effect.upstream === name);
    this.#handle(this.chain.verified(name, true, (this.at += 100)));
    return this;
  }

  #release<E extends Fetch | Verify>(isAnswered: (effect: Fetch | Verify) => effect is E): E {
    const effect = this.#held?.find(isAnswered);
    if (effect === undefined) throw new Error('nothing was asked');
    this.#held = this.#held?.filter((one) => one !== effect);
    return effect;
  }

  get isFetching(): boolean {
    return this.#held?.some(({ kind }) => kind === 'fetch') === true;
  }

  isVerifying(name: string): boolean {
    return this.#held?.some((effect) => effect.kind === 'verify' && effect.upstream === name) === true;
  }

  serve(
    name: string,
    number: number,
    more: Partial<ServedBlock> & { isLatest?: boolean; tag?: 'finalized' } = {},
  ): this {
    const { hash, ...how } = more;
    const block = { number: BigInt(number), hash };
    this.at += 100;
    this.#handle(this.chain.seen(name, block, { by: 'response', sentAt: this.at, ...how }, this.at));
    return this;
  }

  #handle(effects: readonly Effect<string>[]): void {
    for (const effect of effects) {
      if (effect.kind === 'changed' && effect.change !== undefined) this.changes.push(effect.change);
      if (this.#held !== undefined && (effect.kind === 'fetch' || effect.kind === 'verify')) {
        this.#held.push(effect);
        continue;
      }
      if (effect.kind === 'fetch') this.#handle(this.chain.fetched(this.#branchTo(effect), this.at));
      if (effect.kind === 'compare') {
        const header = parseHeader(this.nodes[effect.upstream]?.byNumber(`0x${effect.number.toString(16)}`));
        if (header !== undefined) this.#handle(this.chain.compared(effect.upstream, header, this.at));
      }
      if (effect.kind === 'poll') this.asked.push(`poll ${effect.upstream}`);
      if (effect.kind !== 'verify') continue;
      this.asked.push(`verify ${effect.upstream}`);
      this.#handle(this.chain.verified(effect.upstream, true, this.at));
    }
  }

  #branchTo({ head, from, headers }: Fetch): Header[] | 'unknown' | 'too-long' {
    if (head.number < (headers.oldest?.number ?? 0n)) return 'too-long';
    const branch = [head];
    for (;;) {
      const [{ parentHash, number }] = branch as [Header];
      if (headers.has(parentHash) || number === headers.oldest?.number) return branch;
      const parent = parseHeader(this.nodes[from]?.byHash(parentHash));
      if (parent === undefined) return 'unknown';
      branch.unshift(parent);
    }
  }

  /** The number of the newest witnessed block, and the groups that have the newest blocks, of those that must. */
  get witnessed(): readonly (number | undefined)[] {
    const { block, present, needed } = this.chain.view.witnesses;
    return [block && Number(block.number), present, needed];
  }

  /** The number of the head, the newest block of the followed chain, and the newest served block. */
  get numbers(): (number | undefined)[] {
    const { number, head, newestServed } = this.chain.view;
    return [number, head?.number, newestServed].map((one) => (one === undefined ? undefined : Number(one)));
  }

  /** Numbers of removed (negative) and added blocks. */
  get delivered(): number[] {
    return this.changes.flatMap(({ removed, added }) => [
      ...removed.map(({ number }) => -Number(number)),
      ...added.map(({ number }) => Number(number)),
    ]);
  }
}

/** Two nodes of one chain, whose newest block is 100. */
function twoNodes(more: object = {}) {
  const chain = new ScriptedChain();
  const network = new Network({ one: chain, two: chain.copy() }, more);
  return { network, one: chain, two: network.nodes['two'] as ScriptedChain };
}

it('after a fall, the newest served block is the head, also if a block that had waited was delivered late', () => {
  const { network, one, two } = twoNodes({ isDevelopment: true });
  one.mine(10);
  two.mine(10);
  network.poll();
  expect(network.numbers).toEqual([110, 110, 110]);
  network.chain.delivered(105n, network.at);
  one.goBack(8);
  two.goBack(8);
  for (let poll = 0; poll < 20; poll++) network.poll();
  expect(network.numbers).toEqual([102, 102, 102]);
});

describe('a block is witnessed if upstreams of enough groups have it', () => {
  const hold = (kind: 'no' | 'near' | 'always', count?: number): WitnessRule => ({ count, hold: kind });
  /** Nodes of one chain at block 100, of which all have reported the next one too. */
  function nodesOf(names: string, rule: WitnessRule = hold('no'), more: object = {}) {
    const chain = new ScriptedChain();
    const nodes = Object.fromEntries([...names].map((name) => [name, chain.copy()]));
    const network = new Network(nodes, more, rule);
    return { network, mineAll: (...to: string[]) => mineAt(network, to.length > 0 ? to : [...names]) };
  }

  /** The same block at all of these, which are polled then. */
  function mineAt(network: Network, names: readonly string[]): void {
    const [first = '', ...others] = names;
    network.at += 12_000;
    network.mine(first);
    for (const name of others) network.nodes[name] = network.nodes[first]?.copy() as ScriptedChain;
    network.poll(...names);
  }

  it('as their head, or as an ancestor of it', () => {
    const { network, mineAll } = nodesOf('abc');
    mineAll('a');
    expect(network.witnessed).toEqual([100, 3, 2]);
    mineAll('a', 'b');
    expect(network.witnessed).toEqual([102, 3, 2]);
    expect(network.chain.view.witnessedHash(102n)).toBe(network.nodes['b']?.head.hash);
    mineAll('b');
    expect([network.witnessed[0], network.numbers[0]]).toEqual([102, 103]);
    expect(network.chain.view.witnessedHash(103n)).toBeUndefined();
    expect(network.chain.view.witnessedHash(101n)).toBe(network.chain.view.at(101n)?.hash);
  });

  it('two upstreams of one group are one witness', () => {
    const { network, mineAll } = nodesOf('abc', undefined, { groupOf: (name: string) => (name === 'a' ? 'x' : 'y') });
    mineAll('b', 'c');
    expect(network.witnessed).toEqual([100, 2, 2]);
    mineAt(network, ['b', 'c', 'a']);
    expect(network.witnessed).toEqual([102, 2, 2]);
  });

  it('an upstream that fails is not forgotten: its group is needed all the same', () => {
    const { network, mineAll } = nodesOf('ab');
    mineAll();
    network.fail('b', 'b');
    mineAll('a');
    expect(network.witnessed).toEqual([101, 1, 2]);
    expect(network.chain.view.witnessed).toBeUndefined();
    network.nodes['b'] = network.nodes['a']?.copy() as ScriptedChain;
    network.poll('b');
    expect(network.witnessed).toEqual([102, 2, 2]);
  });

  it('the number of groups is that of the network file, or more than half of those that are not drained', () => {
    const { network } = nodesOf('abcde', hold('no', 4));
    expect(network.witnessed).toEqual([100, 5, 4]);
    network.chain.replaceUpstreams(['a', 'b', 'c']);
    expect(network.witnessed[2]).toBe(2);
    network.chain.replaceUpstreams(['a']);
    expect(network.witnessed[2]).toBe(1);
    expect(network.chain.view.witnessed).toBe(100n);
  });

  it('after a reorg, those before it are', () => {
    const { network, mineAll } = nodesOf('abc');
    for (let block = 0; block < 4; block++) mineAll();
    network.nodes['a']?.goBack(3);
    network.nodes['a']?.mine(3);
    network.nodes['b'] = network.nodes['a']?.copy() as ScriptedChain;
    network.poll('a', 'b', 'c');
    expect(network.chain.view.witnessedHash(104n)).toBe(network.nodes['a']?.head.hash);
    network.nodes['c']?.goBack(3);
    network.nodes['c']?.mine(2);
    network.poll('c');
    expect(network.witnessed).toEqual([104, 2, 2]);
  });

  // Seed 9 of the simulated hours with require: the head fell below a block that was served.
  it('after a reorg that one upstream reports while another one fails, those before it are, and the head does not fall', () => {
    const { network, mineAll } = nodesOf('abc', hold('always'));
    mineAll();
    mineAll('b', 'c');
    mineAll('b', 'c');
    expect([network.witnessed[0], network.numbers[0]]).toEqual([103, 103]);
    network.fail('c', 'c');
    network.nodes['b']?.goBack(1);
    network.nodes['b']?.mine(5);
    for (let poll = 0; poll < 60; poll++) network.poll('b', 'a');
    expect(network.witnessed[0]).toBe(102);
    expect(network.numbers[0]).toBeGreaterThanOrEqual(102);
  });

  it.each(['near', 'always'] as const)('held %s, the head is the newest one of them', (kind) => {
    const { network, mineAll } = nodesOf('abc', hold(kind));
    mineAll('a');
    mineAll('a');
    expect(network.numbers.slice(0, 2)).toEqual([100, 100]);
    mineAll('a', 'b');
    expect(network.numbers.slice(0, 2)).toEqual([103, 103]);
    // Those that a liar forges are never delivered.
    network.nodes['c']?.mine(4);
    network.poll('c');
    mineAll('a', 'b');
    expect(network.numbers.slice(0, 2)).toEqual([104, 104]);
    expect(network.delivered.filter((number) => number < 0)).toEqual([]);
    expect(network.chain.view.head?.hash).toBe(network.nodes['a']?.head.hash);
  });

  it('held near, the head is the highest one if they are more than two blocks behind, until they are higher', () => {
    const { network, mineAll } = nodesOf('abc', hold('near'));
    mineAll();
    network.fail('b', 'b', 'c', 'c');
    const numbers = [1, 2, 3, 4].map(() => {
      mineAll('a');
      return network.numbers[0];
    });
    expect(numbers).toEqual([101, 101, 104, 105]);
    expect(network.witnessed).toEqual([101, 1, 2]);
    expect(network.chain.view.witnesses.missingSince).toBeGreaterThan(0);
    network.nodes['b'] = network.nodes['a']?.copy() as ScriptedChain;
    network.nodes['b'].goBack(1);
    network.poll('b');
    expect([network.witnessed[0], network.numbers[0]]).toEqual([104, 105]);
    mineAt(network, ['a', 'b']);
    expect([network.witnessed[0], network.numbers[0]]).toEqual([106, 106]);
    expect(network.chain.view.witnesses.missingSince).toBeUndefined();
  });

  it('held always, the head stays while too few groups respond', () => {
    const { network, mineAll } = nodesOf('abc', hold('always'));
    mineAll();
    network.fail('b', 'b', 'c', 'c');
    for (let block = 0; block < 20; block++) mineAll('a');
    expect(network.numbers[0]).toBe(101);
    expect(network.chain.view.witnessed).toBeUndefined();
  });

  // Seed 3 of the simulated hours with enforce: heads were delivered twice.
  it('held near, a branch whose blocks are being fetched is not left for an ancestor of its head', () => {
    const { network, mineAll } = nodesOf('abc', hold('near'));
    for (let block = 0; block < 8; block++) mineAll();
    network.hold();
    network.fail('a', 'a', 'c', 'c');
    network.nodes['b']?.goBack(6);
    network.mine('b', 6).poll('b').mine('b').poll('b').mine('b').poll('b');
    network.nodes['a'] = network.nodes['b']?.copy() as ScriptedChain;
    network.mine('b').poll('b');
    expect(network.isFetching).toBe(true);
    network.poll('a').answerFetch();
    expect([network.witnessed[0], ...network.numbers.slice(0, 2)]).toEqual([110, 111, 111]);
  });

  it('held, an upstream whose polls have gaps is asked for the block of another one', () => {
    const { network } = nodesOf('ab', hold('always'));
    const chain = network.nodes['a'] as ScriptedChain;
    for (let round = 0; round < 5; round++) {
      network.at += 12_000;
      chain.mine(5);
      network.nodes['b'] = chain.copy();
      network.poll('b');
      chain.mine(5);
      network.poll('a');
    }
    expect(network.numbers[0]).toBe(145);
  });
});

describe('rule 1: the head falls only if the chain was replaced', () => {
  const fallBehind = (network: Network): void => {
    network.mine('one', 6).poll('one').fail('one', 'one');
  };

  it.each<[string, (network: Network) => unknown, number]>([
    ['one upstream with a new block is enough', (network) => network.mine('one').poll('one'), 101],
    ['an upstream that lags lowers nothing', (network) => network.mine('one', 3).poll('one', 'two'), 103],
    ['a number that the chain cannot have is ignored', (network) => network.serve('one', 10 ** 9), 100],
    [
      'the upstreams that are left lag, however often they are polled',
      (network) => {
        fallBehind(network);
        for (let polls = 0; polls < 30; polls++) network.poll('two');
      },
      106,
    ],
    [
      'the others are on another branch for a second and three polls',
      (network) => {
        fallBehind(network);
        network.nodes['two']?.mine(3);
        for (let polls = 0; polls < 12; polls++) network.poll('two');
      },
      103,
    ],
    [
      'the others are on another branch, but for less than a second',
      (network) => {
        fallBehind(network);
        network.nodes['two']?.mine(3);
        for (let polls = 0; polls < 9; polls++) network.poll('two');
      },
      106,
    ],
    [
      'the only head was that of another chain',
      (network) => {
        network.nodes['one']?.mine(1_000);
        network.poll('one');
        network.leave('one');
      },
      100,
    ],
  ])('%s', (_, happens, number) => {
    const { network } = twoNodes();
    happens(network);
    expect(network.numbers[0]).toBe(number);
  });

  it.each<[string, object, number | undefined]>([
    ['without others, nothing is known', {}, undefined],
    ['with others, the head is theirs', { three: new ScriptedChain({ from: 90 }) }, 90],
  ])('upstreams are found on another chain together: %s', (_, others, number) => {
    const chain = new ScriptedChain();
    const network = new Network({ one: chain, two: chain.copy(), ...others });
    network.leave('one', 'two');
    expect(network.numbers.slice(0, 2)).toEqual([number, number]);
    expect(network.chain.view.has(chain.head.hash)).toBe(false);
  });

  it('the head of an upstream that was removed is not awaited', () => {
    const { network } = twoNodes();
    network.chain.waitFor(['one', 'two'], network.at + 10_000);
    network.chain.replaceUpstreams(['one']);
    network.mine('one').poll('one');
    expect(network.numbers[0]).toBe(101);
  });

  it('the heads of an earlier start are not awaited', () => {
    const { network } = twoNodes();
    network.chain.waitFor(['one', 'two'], network.at + 10_000);
    network.chain.waitFor(['one'], network.at + 10_000);
    network.mine('one').poll('one');
    expect(network.numbers[0]).toBe(101);
  });

  it('on a development chain, a lower head is followed after three polls', () => {
    const { network, one, two } = twoNodes({ isDevelopment: true, ...oneGroup });
    one.mine(5);
    two.mine(5);
    network.poll();
    for (const chain of [one, two]) chain.goBack(4);
    // The first round shows the lower head of one of them only.
    for (let polls = 0; polls < 3; polls++) network.poll();
    expect(network.numbers).toEqual([105, 105, 105]);
    network.poll();
    expect(network.numbers).toEqual([101, 101, 101]);
  });
});

describe('of several groups, none alone decides the chain', () => {
  const BLOCK_MS = 12_000;
  /** The first block of a scripted chain is that of the first event. */
  const live = { unixMsAt: (at: number) => 1_700_000_000_000 + at };

  /** The next head of an upstream that forges blocks. @param forged its branch until now */
  type Forge = (truth: ScriptedChain, forged: ScriptedChain | undefined) => ScriptedChain;
  const ahead =
    (blocks: bigint): Forge =>
    (truth, forged = truth.copy()) => {
      for (let mined = 0; mined < 3 && forged.number < truth.number + blocks; mined++) forged.mine();
      return forged;
    };
  const onEachHead: Forge = (truth) => {
    const forged = truth.copy();
    forged.mine();
    return forged;
  };

  it.each<[string, 'first' | 'last', Forge, number]>([
    ['one block ahead', 'first', ahead(1n), 5],
    ['one block ahead', 'last', ahead(1n), 5],
    ['twelve blocks ahead', 'first', ahead(12n), 7],
    ['twelve blocks ahead', 'last', ahead(12n), 7],
    ['on each head', 'first', onEachHead, 6],
    ['on each head', 'last', onEachHead, 5],
  ])(
    'blocks that one upstream forges %s, as the %s of three, are removed again, and it is marked',
    (_, place, forge, markedAt) => {
      const truth = new ScriptedChain();
      const honest = { a: truth, b: truth };
      const liar = truth.copy();
      const network = new Network(place === 'first' ? { liar, ...honest } : { ...honest, liar }, live);
      const trueHashes = new Set<string>([truth.head.hash]);
      let forged: ScriptedChain | undefined;
      for (let block = 1; block <= 12; block++) {
        network.at += BLOCK_MS;
        trueHashes.add(truth.mine().hash);
        // From the second block on, it forges.
        forged = block < 2 ? undefined : forge(truth, forged);
        network.nodes['liar'] = forged ?? truth;
        network.poll();
        const { view } = network.chain;
        expect([view.markOf('a'), view.markOf('b')]).toEqual([undefined, undefined]);
        if (block >= markedAt)
          expect([view.markOf('liar'), view.head?.hash]).toEqual([expect.anything(), truth.head.hash]);
        expect(Number(view.number) - Number(truth.number)).toBeLessThanOrEqual(1);
      }
      // What is delivered of its blocks is removed again.
      const delivered = new Map<string, bigint>();
      for (const { removed, added } of network.changes) {
        for (const { hash } of removed) delivered.delete(hash);
        for (const { hash, number } of added) delivered.set(hash, number);
      }
      const left = [...delivered].filter(([hash]) => !trueHashes.has(hash)).map(([, number]) => number);
      expect(left).toEqual([]);
      const added = network.changes.flatMap((change) => change.added);
      expect(added.filter(({ hash }) => !trueHashes.has(hash)).length).toBeLessThan(markedAt - 1);
    },
  );

  it('a served block of a branch that lost does not count as served', () => {
    const truth = new ScriptedChain();
    const network = new Network({ a: truth, b: truth, liar: truth.copy() }, live);
    network.at += BLOCK_MS;
    truth.mine();
    network.mine('liar').poll();
    network.serve('liar', 102, { isLatest: true });
    expect(network.numbers).toEqual([101, 101, 101]);
  });

  it('in reorgs of 1 to 20 blocks, with one late upstream, none is marked whose branch the majority has', () => {
    const truth = new ScriptedChain();
    truth.mine(30);
    const network = new Network({ a: truth, b: truth.copy(), late: truth.copy() }, live);
    network.at += 30 * BLOCK_MS;
    for (let depth = 1; depth <= 20; depth++) {
      for (let block = 0; block < 4; block++) {
        network.at += BLOCK_MS;
        if (block === 0) truth.reorganise(depth);
        else truth.mine();
        network.poll('a');
        network.nodes['b'] = truth.copy();
        network.poll('b');
        if (block > 0) network.nodes['late'] = truth.copy();
        network.poll('late');
        const { view } = network.chain;
        expect([view.markOf('a'), view.markOf('b'), view.head?.hash]).toEqual([undefined, undefined, truth.head.hash]);
      }
    }
    expect(network.changes.some(({ hasGap }) => hasGap)).toBe(false);
  });

  it('two that disagree: the branch that was followed before stays, and the view says so', () => {
    const { network, one, two } = twoNodes(live);
    network.at += BLOCK_MS;
    one.mine();
    two.mine();
    network.poll();
    two.mine();
    network.poll('two');
    const { view } = network.chain;
    expect([view.head?.hash, view.dispute?.number]).toEqual([one.head.hash, 101n]);
  });

  it('at a start, the branch of the first one in the file is followed, unless two others have another', () => {
    const [first, others] = [new ScriptedChain(), new ScriptedChain()];
    first.mine(3);
    others.mine(3);
    expect(new Network({ first, other: others }).chain.view.head?.hash).toBe(first.head.hash);
    const network = new Network({ first, a: others, b: others });
    expect([network.chain.view.head?.hash, network.chain.view.standingOf('first').hasLost]).toEqual([
      others.head.hash,
      true,
    ]);
  });
});

describe('rule 2: reads do not go back', () => {
  it.each<[string, (network: Network) => unknown, number]>([
    ['a delivered block counts', () => undefined, 100],
    ['a block that no poll has returned counts', (network) => network.serve('one', 102), 102],
    ['an older one does not', (network) => network.serve('one', 102).serve('two', 101), 102],
    ['an absurd one does not', (network) => network.serve('one', 2_000_000), 100],
  ])('%s', (_, happens, number) => {
    const { network } = twoNodes();
    happens(network);
    expect(network.numbers[2]).toBe(number);
  });

  it('raises the head of its upstream and of the network, and the others are behind', () => {
    const { network } = twoNodes();
    network.serve('one', 101);
    const { view } = network.chain;
    expect([view.number, view.headOf('one')?.number, view.isBehind('one'), view.isBehind('two')]).toEqual([
      101n,
      101n,
      false,
      true,
    ]);
    expect([view.isLagging('one', network.at), view.isLagging('two', network.at)]).toEqual([false, true]);
  });

  it('the newest block of a tag does not fall, and an upstream with an older one is known for 12 s', () => {
    const { network } = twoNodes();
    network.serve('one', 90, { tag: 'finalized' });
    network.serve('two', 80, { tag: 'finalized' });
    const { view } = network.chain;
    expect([view.newestOf('finalized'), view.newestOf('safe')]).toEqual([90n, -1n]);
    const isOlder = (ms: number): boolean[] =>
      ['one', 'two'].map((name) => view.isTagOlder(name, 'finalized', network.at + ms));
    expect([isOlder(11_999), isOlder(12_000)]).toEqual([
      [false, true],
      [false, false],
    ]);
  });

  it('for a tag, a number that the chain cannot have is ignored', () => {
    const { network } = twoNodes();
    network.serve('one', 10 ** 9, { tag: 'finalized' });
    network.serve('two', 90, { tag: 'finalized' });
    network.serve('one', 80, { tag: 'finalized' });
    const { view } = network.chain;
    expect(view.newestOf('finalized')).toBe(90n);
    expect(['one', 'two'].map((name) => view.isTagOlder(name, 'finalized', network.at))).toEqual([true, false]);
  });

  it('a block of a tag that was served before the head was known, and is above it, does not count', () => {
    const network = new Network({});
    network.chain.replaceUpstreams(['one', 'two']);
    network.serve('one', 10 ** 9, { tag: 'finalized' });
    network.nodes['two'] = new ScriptedChain();
    network.poll('two');
    network.serve('two', 90, { tag: 'finalized' });
    const { view } = network.chain;
    expect([view.newestOf('finalized'), view.isTagOlder('two', 'finalized', network.at)]).toEqual([90n, false]);
  });

  it('blocks of a tag on another chain are forgotten with its head', () => {
    const { network } = twoNodes();
    network.serve('one', 95, { tag: 'finalized' });
    network.leave('one', 'two');
    network.poll('two');
    expect(network.chain.view.newestOf('finalized')).toBe(-1n);
  });

  it('an upstream that was removed is not known to have an older block', () => {
    const { network } = twoNodes();
    network.serve('one', 90, { tag: 'finalized' }).serve('two', 80, { tag: 'finalized' });
    network.chain.replaceUpstreams(['one']);
    const { number, olderAt } = network.chain.view.tagged.finalized;
    expect([number, olderAt.size]).toEqual([90n, 0]);
  });
});

describe('rule 3: another block at a known height is a reorg', () => {
  it('a lower head on the same chain is none', () => {
    const { network, one } = twoNodes();
    one.mine(3);
    network.poll('one');
    network.fail('one', 'one');
    for (let polls = 0; polls < 20; polls++) network.poll('two');
    expect(network.delivered).toEqual([101, 102, 103]);
  });

  it('blocks of the new branch are fetched, and the old ones are removed, newest first', () => {
    const { network, one } = twoNodes();
    one.mine(3);
    network.poll('one');
    one.reorganise(2, 4);
    network.poll('one');
    expect(network.delivered).toEqual([101, 102, 103, -103, -102, 102, 103, 104, 105]);
    expect(network.numbers).toEqual([105, 105, 105]);
  });

  it('of two branches of one height in one group, the one that is known stays', () => {
    const { network, one, two } = twoNodes(oneGroup);
    one.mine();
    two.mine();
    network.poll();
    expect([network.delivered, network.chain.view.head?.hash]).toEqual([[101], one.head.hash]);
    two.mine();
    network.poll('two');
    expect(network.delivered).toEqual([101, -101, 101, 102]);
  });

  it('a branch that was removed is followed again at a greater height only', () => {
    const { network, one, two } = twoNodes();
    one.mine(2);
    network.poll('one');
    const old = one.copy();
    one.reorganise(2, 5);
    network.poll('one');
    network.nodes['two'] = old.copy();
    network.fail('one', 'one');
    for (let polls = 0; polls < 30; polls++) network.poll('two');
    expect(network.numbers).toEqual([105, 105, 105]);
    network.nodes['two'].mine(4);
    network.poll('two');
    expect([network.numbers, network.changes.at(-1)?.removed.length]).toEqual([[106, 106, 106], 5]);
    expect(two.number).toBe(100n);
  });

  it('a chain that starts anew has a gap', () => {
    const network = new Network({ one: new ScriptedChain({ from: 1_000 }) });
    network.nodes['one'] = new ScriptedChain({ from: 1 });
    for (let polls = 0; polls < 14; polls++) network.poll();
    expect(network.numbers).toEqual([1, 1, 1]);
    expect(network.changes).toMatchObject([{ removed: [], added: [{ number: 1n }], hasGap: true }]);
  });

  it('the latest head waits for missing blocks, also if a check ends meanwhile', () => {
    const chain = new ScriptedChain();
    const network = new Network({ one: chain, two: chain.copy(), three: chain.copy() }, oneGroup);
    const mineOf = (name: string, count: number): void => {
      chain.mine(count);
      network.nodes[name] = chain.copy();
    };
    network.hold();
    network.chain.resumed();
    mineOf('three', 5);
    network.poll('three');
    mineOf('two', 5);
    network.poll('two').answerVerify('two');
    mineOf('one', 3);
    network.poll('one');
    mineOf('two', 1);
    network.poll('two');
    // Block 114 waits for blocks 111 and 112.
    network.answerVerify('three').answerFetch();
    expect(network.chain.view.head?.number).toBe(114n);
  });

  it('a chain with a missing block restarts after a minute, also if heads arrive during each check', () => {
    const { network, one } = twoNodes();
    network.hold();
    for (let seconds = 0; seconds < 100; seconds += 10) {
      one.mine(3);
      network.poll('one');
      network.at += 10_000;
      if (network.isFetching) network.answerFetch('unknown');
      if (network.isVerifying('one')) network.answerVerify('one');
      one.mine();
      network.poll('one');
    }
    expect(network.changes.map(({ hasGap }) => hasGap)).toContain(true);
  });

  it('a head that waits is dropped if its upstream is found on another chain', () => {
    const { network, one } = twoNodes();
    network.hold();
    one.mine(3);
    network.poll('one');
    one.mine(3);
    network.poll('one').leave('one', 'two');
    network.answerFetch();
    expect(network.chain.view.head).toBeUndefined();
  });

  it('a head that waits is that of one of several nodes if its upstream has fallen and risen meanwhile', () => {
    const one = new ScriptedChain();
    const network = new Network({ one });
    network.mine('one').poll();
    const { head } = network.chain.view;
    network.hold();
    network.mine('one', 3).poll();
    // Another branch at the height of the head waits for blocks 102 and 103.
    one.reorganise(4, 1);
    network.poll().serve('one', 104).answerFetch();
    expect([network.chain.view.head, network.delivered]).toEqual([head, [101]]);
  });

  describe('the upstream with the newest blocks is found on another chain, and the other one lags', () => {
    const left = (): ReturnType<typeof twoNodes> => {
      const nodes = twoNodes();
      nodes.network.mine('one', 2).poll('one').leave('one');
      nodes.network.poll('two');
      return nodes;
    };

    it('no block is removed until it has another one', () => {
      const { network, one } = left();
      expect(network.delivered).toEqual([101, 102]);
      network.nodes['two'] = one.copy();
      network.mine('two', 2).poll('two');
      expect(network.delivered).toEqual([101, 102, 103, 104]);
      expect(network.changes.some(({ isOtherChain }) => isOtherChain)).toBe(false);
    });

    it.each([1, 2, 3])(
      'its next block at height 10%i is another one: subscribers had blocks of the other chain',
      (blocks) => {
        const { network } = left();
        network.mine('two', blocks).poll('two');
        expect(network.changes.at(-1)).toMatchObject({ hasGap: true, isOtherChain: true });
      },
    );
  });
});

describe('rule 4: not found needs evidence', () => {
  it('a block older than its known head shows that it was replaced: it is polled', () => {
    const { network } = twoNodes();
    network.serve('one', 99, { isLatest: true });
    expect(network.asked).toEqual(['poll one']);
    // A block of another branch shows the same.
    network.serve('two', 100, { hash: other });
    expect(network.asked).toEqual(['poll one', 'poll two']);
  });

  it('not if several nodes share its URL, which falls and rises show', () => {
    const { network, one } = twoNodes();
    one.mine(2);
    network.poll('one');
    network.nodes['one'] = network.nodes['two'] as ScriptedChain;
    network.poll('one');
    network.nodes['one'] = one;
    network.poll('one');
    expect(network.chain.view.isAlternating('one', network.at + 59_999)).toBe(true);
    expect(network.chain.view.isAlternating('one', network.at + 60_000)).toBe(false);
    network.serve('one', 101, { isLatest: true });
    expect(network.asked).toEqual([]);
  });

  it('what became known after an upstream was asked is no evidence of what it had then', () => {
    const { network } = twoNodes();
    const sentAt = network.at;
    network.serve('one', 101);
    const { view } = network.chain;
    expect([view.hasAdvancedSince('one', sentAt), view.hasAdvancedSince('two', sentAt)]).toEqual([true, false]);
  });

  it('a head that does not continue the chain is checked: it may be of another chain', () => {
    const { network } = twoNodes();
    network.nodes['two'] = new ScriptedChain({ from: 101 });
    network.poll('two');
    expect(network.asked).toContain('verify two');
  });
});

describe('rule 5: an earlier answer is reused in its epoch only', () => {
  it.each<[string, 'same' | 'epoch' | 'broken', (network: Network) => unknown]>([
    ['a poll of the same head changes nothing', 'same', (network) => network.poll()],
    ['an older served block changes nothing', 'same', (network) => network.serve('one', 50)],
    ['another head is another epoch', 'epoch', (network) => network.mine('one').poll('one')],
    ['a newer served block is another epoch', 'epoch', (network) => network.serve('one', 101)],
    ['a sign that a head was replaced is one', 'epoch', (network) => network.serve('one', 99, { isLatest: true })],
    [
      'a change by a development tool is one',
      'epoch',
      ({ chain }) => {
        chain.rewritten();
      },
    ],
    [
      'a lower head may be one of another chain',
      'broken',
      (network) => {
        network.nodes['one'] = network.nodes['two'] = new ScriptedChain({ from: 50 });
        network.poll();
      },
    ],
    [
      'so may what comes after a pause',
      'broken',
      ({ chain, at }) => {
        chain.used(at + 30_001);
      },
    ],
    [
      'polls that begin again are a pause',
      'broken',
      ({ chain }) => {
        chain.resumed();
      },
    ],
  ])('%s', (_, expected, happens) => {
    const { network } = twoNodes();
    const { epoch, unbrokenSince } = network.chain.view;
    happens(network);
    const { view } = network.chain;
    const isBroken = view.unbrokenSince !== unbrokenSince;
    expect(view.epoch === epoch ? 'same' : isBroken ? 'broken' : 'epoch').toBe(expected);
  });

  it.each<[string, (network: Network) => unknown]>([
    ['a block older than the head', (network) => network.serve('one', 99, { isLatest: true })],
    ['a block of another branch', (network) => network.serve('one', 100, { hash: other })],
    ['a block below a final one', (network) => network.serve('one', 90, { isLatest: true })],
  ])('%s is a sign once until the next poll of its upstream', (_, happens) => {
    const { network } = twoNodes();
    network.chain.finalized(95n);
    const epochs = (): number[] =>
      [1, 2, 3].map(() => {
        happens(network);
        return network.chain.view.epoch;
      });
    const { epoch } = network.chain.view;
    const [first, ...more] = epochs();
    expect(first).not.toBe(epoch);
    expect(more).toEqual([first, first]);
    network.poll('one');
    expect(network.chain.view.epoch).toBe(first);
    expect(epochs()).not.toContain(first);
  });

  it('a block below a final one is another sign than one that is only older than the head', () => {
    const { network } = twoNodes();
    network.chain.finalized(95n);
    const { unbrokenSince } = network.chain.view;
    network.serve('one', 99, { isLatest: true });
    expect(network.chain.view.unbrokenSince).toBe(unbrokenSince);
    network.serve('one', 90, { isLatest: true });
    expect(network.chain.view.unbrokenSince).not.toBe(unbrokenSince);
  });

  it('the branch is uncertain from a newest served block of another branch until the chain has moved', () => {
    const { network, one } = twoNodes();
    network.serve('one', 99, { hash: other });
    expect(network.chain.view.branch).toBe('known');
    network.serve('two', 100, { hash: other });
    expect(network.chain.view.branch).toBe('uncertain');
    one.mine();
    network.poll('one');
    expect(network.chain.view.branch).toBe('known');
  });

  it('a view does not change', () => {
    const { network, one } = twoNodes();
    const { view } = network.chain;
    one.mine(2);
    network.poll();
    network.serve('one', 103);
    expect([view.number, view.head?.number, view.newestServed, view.at(101n)]).toEqual([100n, 100n, 100n, undefined]);
    expect([view.headOf('one')?.number, view.isBehind('two')]).toEqual([100n, false]);
  });
});

import { describe, expect, it } from 'vitest';
import { FairSlots, gatehouse, type SlotOwner, type Waiter } from '../../gateway/admission/fair-slots.ts';

/** Requests of owners by letter. A request that waits records its letter when it starts. */
class Requests {
  readonly started: string[] = [];
  readonly waiters = new Map<string, Waiter[]>();
  readonly slots: FairSlots;
  readonly #owners: Readonly<Record<string, SlotOwner>>;

  constructor(slots: number, weights: Readonly<Record<string, number>> = {}) {
    this.slots = new FairSlots(slots);
    const owner = (letter: string): SlotOwner => (letter === 'g' ? gatehouse : { weight: weights[letter] ?? 1 });
    this.#owners = Object.fromEntries(['a', 'b', 'c', 'd', 'g'].map((letter) => [letter, owner(letter)]));
  }

  owner(letter: string): SlotOwner {
    return this.#owners[letter] as SlotOwner;
  }

  request(letter: string): void {
    if (this.slots.tryEnter(this.owner(letter))) {
      this.started.push(letter);
      return;
    }
    const start = (): void => void this.started.push(letter);
    const waiter: Waiter = { previous: undefined, next: undefined, start };
    this.waiters.set(letter, [...(this.waiters.get(letter) ?? []), waiter]);
    this.slots.addWaiter(this.owner(letter), waiter);
  }

  /** `a`: a request of a; `-a`: one of a's requests ends; `x2`: a's second waiting request leaves. */
  run(steps: string): string {
    for (const step of steps.split(' ')) {
      const letter = step.at(-1) as string;
      if (step.startsWith('-')) this.slots.leave(this.owner(letter));
      else if (step.startsWith('x'))
        this.slots.removeWaiter(this.owner('a'), this.waiters.get('a')?.[Number(letter)] as Waiter);
      else this.request(letter);
    }
    return this.started.join('');
  }
}

const many = (letter: string, count: number): string => Array.from({ length: count }, () => letter).join(' ');

describe('the order in which requests get slots', () => {
  it.each([
    ['of arrival, for one owner', 1, {}, 'a a a -a -a', 'aaa'],
    ['the owner without slots first', 2, {}, 'a a a a b -a -a', 'aaba'],
    ['owners with equally many slots in turn', 1, {}, 'a a a b b c -a -b -c -a -b', 'abcaba'],
    ['an owner that comes again is not before others', 1, {}, 'a b c -a a -b b -c -a', 'abcab'],
    ['a request that left is skipped', 1, {}, 'a a a a x1 -a -a', 'aaa'],
    ['an owner whose requests all left is skipped', 1, {}, 'b a b x0 -b', 'bb'],
    ['Gatehouse itself before owners with slots', 2, {}, 'a a a g -a', 'aag'],
    ['Gatehouse itself in turn with owners without slots', 1, {}, 'g b g g -g -b', 'gbg'],
  ] as const)('is %s', (_, slots, weights, steps, started) => {
    expect(new Requests(slots, weights).run(steps)).toBe(started);
  });
});

it.each([
  [1, 30],
  [2, 40],
  [4, 48],
])('an owner with weight %i gets %i of 60 slots beside one with weight 1', (weight, expected) => {
  const requests = new Requests(60, { a: weight });
  requests.run(`${many('b', 1_000)} ${many('a', 1_000)}`);
  // The oldest requests end first.
  const inProgress = (): string[] => requests.started.slice(-60);
  for (let ended = 0; ended < 400; ended++) requests.slots.leave(requests.owner(requests.started[ended] as string));
  const ofA = inProgress().filter((letter) => letter === 'a').length;
  expect(Math.abs(ofA - expected)).toBeLessThanOrEqual(6);
});

describe('slots for owners that have none', () => {
  it('one owner gets 7 of 8 slots, and another one needs not wait', () => {
    const requests = new Requests(64);
    requests.run(`b -b ${many('a', 200)}`);
    expect(requests.started.filter((letter) => letter === 'a')).toHaveLength(56);
    requests.run('b c d');
    expect(requests.started.slice(-3)).toEqual(['b', 'c', 'd']);
  });

  it('three owners leave some, too', () => {
    const requests = new Requests(64);
    requests.run(Array.from({ length: 60 }, () => 'a b c').join(' '));
    expect(requests.started.length).toBeLessThan(64);
    expect(requests.run('d').at(-1)).toBe('d');
  });

  it('an owner at its maximum does not keep free slots from others that wait, whatever its weight', () => {
    const requests = new Requests(128, { a: 16 });
    requests.run(`${many('a', 112)} ${many('b', 8)} ${many('g', 8)} ${many('a', 5)} ${many('b', 8)}`);
    requests.started.length = 0;
    // a has 7 of its weight, b has 8; a waits for its own requests, b does not.
    expect(requests.run(many('-g', 8))).toBe('bbbbbb');
  });

  it.each([1, 4, 1_000])('are kept from an owner that has been alone, with weight %i', (weight) => {
    const requests = new Requests(64, { a: weight });
    for (let index = 0; index < 2_000; index++) requests.run('a -a');
    requests.started.length = 0;
    expect(requests.run(many('a', 200))).toBe('a'.repeat(56));
    expect(requests.run('b').at(-1)).toBe('b');
  });

  it('are not kept if all requests are of one owner', () => {
    const slots = new FairSlots(8, true);
    const owner: SlotOwner = { weight: 1 };
    const entered = Array.from({ length: 9 }, () => slots.tryEnter(owner));
    expect(entered.filter(Boolean)).toHaveLength(8);
  });

  it('are not kept from Gatehouse itself', () => {
    expect(new Requests(8).run(`a -a b -b ${many('g', 10)}`)).toBe(`ab${'g'.repeat(8)}`);
  });
});

it('a request that ends as it starts lets the next ones start', () => {
  const slots = new FairSlots(1);
  const owner: SlotOwner = { weight: 1 };
  expect(slots.tryEnter(owner)).toBe(true);
  let started = 0;
  const start = (): void => {
    started++;
    slots.leave(owner);
  };
  for (let index = 0; index < 20_000; index++) slots.addWaiter(owner, { previous: undefined, next: undefined, start });
  slots.leave(owner);
  expect(started).toBe(20_000);
  expect(slots.tryEnter(owner)).toBe(true);
});

it('fewer slots take effect as requests end, more slots at once', () => {
  const requests = new Requests(2);
  requests.run('a a a a a a');
  requests.slots.resize(-1);
  expect(requests.run('-a')).toBe('aa');
  expect(requests.run('-a')).toBe('aaa');
  requests.slots.resize(2);
  expect(requests.started.join('')).toBe('aaaaa');
});

describe('the number of steps', () => {
  let steps = 0;

  /** Counts each use of its links. */
  class CountingWaiter implements Waiter {
    #previous: Waiter | undefined;
    #next: Waiter | undefined;
    get previous(): Waiter | undefined {
      steps++;
      return this.#previous;
    }
    set previous(waiter: Waiter | undefined) {
      steps++;
      this.#previous = waiter;
    }
    get next(): Waiter | undefined {
      steps++;
      return this.#next;
    }
    set next(waiter: Waiter | undefined) {
      steps++;
      this.#next = waiter;
    }
    start(): void {
      steps++;
    }
  }

  /** Each owner whose weight is read has been considered. */
  class CountingOwner implements SlotOwner {
    get weight(): number {
      steps++;
      return 1;
    }
  }

  /** The most steps of one operation, with this many owners and waiting requests of each. */
  function mostSteps(ownerCount: number, perOwner: number): number {
    const slots = new FairSlots(4);
    const owners = Array.from({ length: ownerCount }, () => new CountingOwner());
    let most = 0;
    const counted = (work: () => void): void => {
      steps = 0;
      work();
      most = Math.max(most, steps);
    };
    for (const owner of owners.slice(0, 4)) slots.tryEnter(owner);
    const waiters = owners.map((owner) =>
      Array.from({ length: perOwner }, () => {
        const waiter = new CountingWaiter();
        counted(() => {
          slots.addWaiter(owner, waiter);
        });
        return waiter;
      }),
    );
    for (const owner of owners.slice(0, 4)) {
      counted(() => {
        slots.leave(owner);
      });
    }
    for (const [index, owner] of owners.entries()) {
      counted(() => {
        slots.removeWaiter(owner, waiters[index]?.[perOwner >> 1] as Waiter);
      });
      counted(() => slots.tryEnter(owner));
    }
    return most;
  }

  it('does not depend on the number of owners or of waiting requests', () => {
    const few = mostSteps(8, 10);
    expect(few).toBeGreaterThan(0);
    expect(mostSteps(2_000, 10)).toBe(few);
    expect(mostSteps(8, 2_000)).toBe(few);
  });
});

import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { clock, installClock, type Clock, type Timer } from '../../gateway/clock/clock.ts';
import { OwnedSteps } from '../../gateway/event-loop/owned-steps.ts';
import { TurnBudget, turnBudget } from '../../gateway/event-loop/turn-budget.ts';
import { blockEventLoop } from '../support/block-event-loop.ts';

/** An event loop whose turns and time the test decides. */
class ScriptedLoop {
  time = 0;
  #turn: (() => void)[] = [];
  #steps: (() => void)[] = [];
  readonly #timers: { at: number; callback: () => void }[] = [];

  now = (): number => this.time;
  /** Other programs use no CPU. */
  cpuMs = (): number => this.time - this.otherMs;
  otherMs = 0;
  setImmediate = (callback: () => void): void => void this.#turn.push(callback);
  setTimeout = (callback: () => void, ms: number): Timer => {
    this.#timers.push({ at: this.time + ms, callback });
    const timer: Timer = { unref: () => timer, refresh: () => timer };
    return timer;
  };
  afterStep = (callback: () => void): void => void this.#steps.push(callback);

  /** Whether anything happens without a timer. */
  get isBusy(): boolean {
    return this.#turn.length > 0;
  }

  turn(): void {
    const due = this.#turn;
    this.#turn = [];
    for (const callback of due) callback();
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) step();
  }

  loseTimers(): void {
    this.#timers.length = 0;
  }

  pass(ms: number): void {
    this.time += ms;
    const due = this.#timers.filter(({ at }) => at <= this.time);
    for (const timer of due) this.#timers.splice(this.#timers.indexOf(timer), 1);
    for (const { callback } of due) callback();
    while (this.isBusy) this.turn();
  }
}

/** Work that takes a time of its own, and is charged for it. */
function open() {
  const loop = new ScriptedLoop();
  const systemClock = clock;
  installClock({ ...systemClock, ...loop } as Clock);
  onTestFinished(() => {
    installClock(systemClock);
  });
  const budget = new TurnBudget(loop.afterStep);
  const done: string[] = [];
  const work = (owner: string, ms: number, name = owner): void => {
    const run = (): void => {
      budget.run(owner, () => {
        loop.time += ms;
        done.push(name);
      });
    };
    if (budget.mayRun(owner)) run();
    else budget.wait(owner, run);
  };
  return { loop, budget, work, done };
}

describe('a turn', () => {
  it('has 3 ms of metered work, and the rest goes on in the next turns', () => {
    const { loop, work, done } = open();
    for (let count = 0; count < 10; count++) work('one', 1);
    expect(done).toHaveLength(3);
    loop.turn();
    expect(done).toHaveLength(6);
    loop.turn();
    expect(done).toHaveLength(9);
    loop.turn();
    expect(done).toHaveLength(10);
  });

  it('keeps the order of the work of one owner', () => {
    const { loop, work, done } = open();
    for (let count = 0; count < 8; count++) work('one', 1, String(count));
    loop.turn();
    work('one', 1, '8');
    while (loop.isBusy) loop.turn();
    expect(done).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8']);
  });

  it('ends, and needs no further turn, when nothing waits', () => {
    const { loop, work } = open();
    work('one', 1);
    loop.turn();
    expect(loop.isBusy).toBe(false);
  });

  it('counts the time of work that waited and is not charged', () => {
    const { loop, budget } = open();
    const done: number[] = [];
    budget.charge('one', 3);
    for (let count = 0; count < 6; count++)
      budget.wait('one', () => {
        loop.time += 1;
        done.push(count);
      });
    loop.turn();
    expect(done).toHaveLength(3);
  });
});

describe('an owner', () => {
  it('that has used little runs before the waiting work of one that has used more', () => {
    const { loop, work, done } = open();
    for (let count = 0; count < 100; count++) work('heavy', 1);
    loop.turn();
    work('light', 0.1);
    loop.turn();
    expect(done.slice(6, 8)).toEqual(['light', 'heavy']);
  });

  it('gets an equal share if all send more than fits', () => {
    const { loop, work, done } = open();
    for (const owner of ['a', 'b', 'c']) for (let count = 0; count < 100; count++) work(owner, 0.5);
    for (let turn = 0; turn < 20; turn++) loop.turn();
    const counts = ['a', 'b', 'c'].map((owner) => done.filter((each) => each === owner).length);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
  });

  it('rests as long as its work has exceeded a turn, if there are others', () => {
    const { loop, work, done } = open();
    work('light', 0.1);
    work('heavy', 103);
    loop.turn();
    work('heavy', 1, 'again');
    work('light', 0.1);
    loop.turn();
    expect(done).toEqual(['light', 'heavy', 'light']);
    // A timer is set in place of one turn after the other.
    expect(loop.isBusy).toBe(false);
    loop.pass(98);
    expect(done).not.toContain('again');
    loop.pass(3);
    expect(done).toContain('again');
  });

  it('rests no longer if the timer of an earlier rest is lost with its clock', () => {
    const { loop, work, done } = open();
    const restOnce = (): void => {
      work('light', 0.1);
      work('heavy', 20);
      loop.turn();
      work('heavy', 0.1, 'later');
    };
    restOnce();
    loop.turn();
    loop.loseTimers();
    loop.pass(2_000);
    expect(done.filter((name) => name === 'later')).toHaveLength(0);
    restOnce();
    for (let passed = 0; passed < 100; passed++) loop.pass(1);
    expect(done.filter((name) => name === 'later')).toHaveLength(2);
  });

  it('does not rest for the time of other programs', () => {
    const { loop, budget, work, done } = open();
    work('light', 0.1);
    expect(budget.mayRun('heavy')).toBe(true);
    loop.otherMs = 100;
    work('heavy', 103);
    loop.pass(1);
    work('heavy', 1, 'again');
    while (loop.isBusy) loop.turn();
    expect(done).toContain('again');
  });

  it('may have several pieces of work that continue after each other', () => {
    const { loop, budget } = open();
    const left = [20, 20, 20];
    const go = (index: number): void => {
      while ((left[index] as number) > 0) {
        if (!budget.mayRun('one')) {
          budget.wait('one', () => {
            go(index);
          });
          return;
        }
        budget.run('one', () => {
          loop.time += 1;
          left[index] = (left[index] as number) - 1;
        });
      }
    };
    for (const index of left.keys()) go(index);
    for (let turn = 0; turn < 30; turn++) loop.turn();
    expect(left).toEqual([0, 0, 0]);
  });

  it('rests although its work is the first of a turn', () => {
    const { loop, budget } = open();
    budget.charge('light', 1);
    loop.turn();
    budget.run('heavy', () => (loop.time += 103));
    loop.turn();
    expect(budget.mayRun('heavy')).toBe(false);
    expect(budget.mayRun('light')).toBe(true);
  });

  it('does not rest while it is alone', () => {
    const { loop, work, done } = open();
    work('heavy', 103);
    loop.turn();
    work('heavy', 1, 'again');
    expect(done).toEqual(['heavy', 'again']);
  });

  it('is forgotten when it has used nothing lately', () => {
    const { loop, budget } = open();
    budget.charge('one', 50);
    expect(budget.usedMs('one')).toBeCloseTo(50);
    loop.pass(1_000);
    expect(budget.usedMs('one')).toBeCloseTo(50 / Math.E);
    loop.pass(20_000);
    budget.charge('two', 1);
    expect(budget.usedMs('one')).toBe(0);
  });
});

describe('the budget of the process', () => {
  it('makes the owner of a long step rest although the step is the first work of its turn', async () => {
    turnBudget.charge('light', 1);
    await nextTurn();
    const steps = new OwnedSteps('long step');
    blockEventLoop(200);
    steps.charge();
    await nextTurn();
    expect(turnBudget.mayRun('long step')).toBe(false);
    expect(turnBudget.mayRun('light')).toBe(true);
  });

  it('leaves the event loop to others while an owner has very much work', async () => {
    let left = 100;
    const all = (async () => {
      while (left-- > 0) {
        await turnBudget.next('heavy');
        turnBudget.run('heavy', () => {
          blockEventLoop(1);
        });
      }
    })();
    let turns = 0;
    const count = (): void => {
      turns++;
      if (left > 0) setImmediate(count);
    };
    setImmediate(count);
    await all;
    expect(turns).toBeGreaterThan(20);
  });
});

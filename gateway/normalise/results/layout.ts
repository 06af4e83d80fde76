import type { MethodSpec, ObjectShape } from '../../spec/method-spec.ts';
import { checkedMembers } from './log-filter-check.ts';
import { plainView, viewOf, type Field, type ObjectView } from './object-view.ts';

/** An upstream writes few orders of members: one per type of transaction. */
const MAX_NEXT = 8;
/** Members of an object that are learned. Objects with more, such as the storage of a trace, have names that are data. */
const MAX_DEPTH = 64;
/** Longest learned name, with separators and white space. */
const MAX_RUN_BYTES = 128;
/** Learned members, which take 2 MB at most. After so many, all layouts are learned anew. */
const MAX_LEARNED = 4_096;
const QUOTE = 34;

/**
 * The members of an object up to one of them, as an upstream has written them before. A layout is a node in a tree: its
 * path has the members in order, and `next` those that have followed. It has names and separators only: every value is
 * checked, and an object without a known layout is walked member by member.
 */
export class Layout {
  readonly view: ObjectView;
  /** Bits of the fields among these members. */
  readonly found: number;
  /** The checked field, if the last member is one. */
  readonly field: Field | undefined;
  /** The name of the last member. Empty at the start of an object. */
  readonly name: string;
  /** Position of the member in `checkedMembers`, if the object is a log. */
  readonly checked: number;
  /** Whether the last value is a string. */
  readonly isText: boolean;
  /** The bytes between the value before and this value, and the first byte of this value. */
  readonly runBytes: number;
  /** The same bytes, four in each number. The last four overlap the four before. */
  readonly words: readonly number[];
  readonly next: Layout[] = [];
  readonly #layouts: Layouts;
  readonly #depth: number;
  #inner: Layout | undefined;

  private constructor(
    layouts: Layouts,
    view: ObjectView,
    before: Layout | undefined,
    name: string,
    run: Buffer,
    field: Field | undefined,
  ) {
    this.#layouts = layouts;
    this.view = view;
    this.field = field;
    this.name = name;
    this.checked = (checkedMembers as readonly string[]).indexOf(name);
    this.found = (before?.found ?? 0) | (field?.bit ?? 0);
    this.isText = run.at(-1) === QUOTE && field?.canHaveHashes !== true;
    this.runBytes = run.length;
    this.words = wordsOf(run);
    this.#depth = before === undefined ? 0 : before.#depth + 1;
  }

  /** The start of an object. */
  static of(layouts: Layouts, view: ObjectView): Layout {
    return new Layout(layouts, view, undefined, '', none, undefined);
  }

  /** The layout with one more member. @param run its bytes, which are copied */
  with(field: Field | undefined, name: string, run: Buffer): Layout {
    const layout = new Layout(this.#layouts, this.view, this, name, run, field);
    if (this.#depth >= MAX_DEPTH || run.length > MAX_RUN_BYTES || !this.#layouts.canLearn()) return layout;
    this.next.unshift(layout);
    if (this.next.length > MAX_NEXT) this.next.pop();
    return layout;
  }

  /** The start of the objects in the last value. */
  get inner(): Layout {
    return (this.#inner ??= Layout.of(this.#layouts, this.field?.elements ?? plainView));
  }
}

const none = Buffer.alloc(0);

/** The learned layouts of results, by their shape or else by their method. */
export class Layouts {
  readonly #max: number;
  #starts = new WeakMap<object, Layout>();
  #learned = 0;

  /** @param max 0: no layout is learned */
  constructor(max = MAX_LEARNED) {
    this.#max = max;
  }

  /** The start of the objects of a shape, or of those of a method without one. */
  of(key: ObjectShape | MethodSpec): Layout {
    let layout = this.#starts.get(key);
    if (layout === undefined) {
      layout = Layout.of(this, 'fill' in key ? viewOf(key) : plainView);
      this.#starts.set(key, layout);
    }
    return layout;
  }

  /** Counts a member that is learned. Before there are too many, it forgets all. */
  canLearn(): boolean {
    if (this.#learned < this.#max) {
      this.#learned++;
      return true;
    }
    this.#learned = 0;
    this.#starts = new WeakMap();
    return false;
  }
}

/** Layouts of the results of all upstreams of this process. */
export const learned = new Layouts();

function wordsOf(run: Buffer): number[] {
  const words: number[] = [];
  for (let at = 0; at + 4 < run.length; at += 4) words.push(run.readInt32LE(at));
  if (run.length >= 4) words.push(run.readInt32LE(run.length - 4));
  return words;
}

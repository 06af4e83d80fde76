import type { FailureClass } from '../../upstreams/transport/upstream-response.ts';

/** `final`: every node would return it, so it is passed on. `null`: the object does not exist. */
export type Meaning = 'final' | 'null' | FailureClass;

/** A pattern for errors of node software, with its meaning. All given conditions must match. */
export interface ErrorRule {
  readonly means: Meaning;
  readonly codes?: readonly number[];
  /** Pattern of the text, anchored, unless `methods` is `reads`: a contract may have written the rest of the message. */
  readonly text?: RegExp;
  /** HTTP status. */
  readonly status?: readonly number[];
  /**
   * A group of methods. `reads` have a schema and execute no code: their errors have no contract text. `logs`: lists over a
   * block range. `without schema`: pass-through methods.
   */
  readonly methods?: 'lookups' | 'lookups by hash' | 'reads' | 'logs' | 'without schema';
  readonly client: string;
  readonly source: string;
}

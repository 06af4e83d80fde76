import type { FailureClass } from '../../upstreams/transport/upstream-response.ts';

/** `final`: the same on every node, so that it is passed on. `null`: there is no such thing. */
export type Meaning = 'final' | 'null' | FailureClass;

export interface ErrorRule {
  readonly means: Meaning;
  /** All that is given must fit. Texts are anchored where the method executes: a contract may have written the rest. */
  readonly codes?: readonly number[];
  readonly text?: RegExp;
  /** Of HTTP. */
  readonly status?: readonly number[];
  /** A method, or a kind of methods: `reads` are of the spec and execute nothing, so that no contract's text is in their errors. */
  readonly of?: 'lookups' | 'lookups by hash' | 'reads' | (string & {});
  readonly client: string;
  readonly source: string;
}

import { StoreError } from '../../store/store-error.ts';

/** An operation cannot be done. The message ends with advice for the command line. */
export class KeyOperationError extends StoreError {
  readonly kind: 'missing' | 'already-exists' | 'inactive' | 'invalid' | 'no-secret' | 'no-redis';
  /** The message without the advice. */
  readonly sentence: string;

  constructor(kind: KeyOperationError['kind'], sentence: string, advice: string) {
    super(`${sentence}: ${advice}`);
    this.kind = kind;
    this.sentence = sentence;
  }
}

export function noSuchKey(id: string): KeyOperationError {
  return new KeyOperationError('missing', `There is no key with the id ${id}`, 'see gatehouse keys list');
}

import { StoreError } from '../../store/store-error.ts';
import type { KeyRecord } from '../stores/key-store.ts';

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

/** What a revocation of several keys has done. */
export interface RevokedKeys {
  /** Records of the revoked keys, in the order of their ids. */
  readonly revoked: readonly KeyRecord[];
  readonly failed: readonly FailedRevocation[];
}

export interface FailedRevocation {
  readonly id: string;
  readonly error: StoreError;
}

/** Some keys could not be revoked. */
export class RevocationError extends Error {
  readonly failed: readonly FailedRevocation[];

  constructor(failed: readonly FailedRevocation[]) {
    super(failureText(failed));
    this.failed = failed;
  }
}

/** The message of each failure. One that several keys share is there once, after their ids. */
function failureText(failed: readonly FailedRevocation[]): string {
  const ids = new Map<string, string[]>();
  for (const { id, error } of failed) ids.set(error.message, [...(ids.get(error.message) ?? []), id]);
  const lines = [...ids].map(([message, own]) =>
    own.every((id) => message.includes(id)) ? message : `${own.join(', ')}: ${message}`,
  );
  return lines.join('\n');
}

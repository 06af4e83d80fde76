import { unreachable } from '../../redis/link.ts';
import { KeyStoreUnreachable } from './key-store.ts';

/** The error of a key or usage store whose Redis gave no answer or rejected the command. */
export function storeUnreachable(cause: unknown): KeyStoreUnreachable {
  const { message, code } = unreachable(cause);
  return new KeyStoreUnreachable(message, code);
}

const PREFIX = 'team:';

/** @returns undefined if the text is not the name of a team: it is part of keys in Redis and of messages */
export function readTeam(text: string): string | undefined {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/.test(text) ? text : undefined;
}

/** The account of a team, which is charged. No id of a key has this form. */
export function teamAccount(name: string): string {
  return PREFIX + name;
}

/** The name in `team:<name>`; undefined for an id of a key. */
export function teamIn(account: string): string | undefined {
  return account.startsWith(PREFIX) ? account.slice(PREFIX.length) : undefined;
}

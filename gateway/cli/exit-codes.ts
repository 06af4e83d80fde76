/** Exit codes of all commands, those above 63 as in sysexits.h. docs/reference/commands.md has the table. */
export const exitCodes = {
  ok: { code: 0, meaning: 'Success' },
  failed: {
    code: 1,
    meaning:
      'The command failed, was used wrongly, or found a problem: `doctor` an upstream, `status` a gateway that is not ready. The message has the reason',
  },
  unavailable: { code: 69, meaning: 'No gateway responds at the address of `status`, `explain` or `events`' },
  internal: { code: 70, meaning: 'A defect of Gatehouse: the message has the stack' },
  configuration: {
    code: 78,
    meaning:
      'A setting, a network file or the key store is invalid, missing or unreachable, or the admin token is missing: the message names it',
  },
} as const satisfies Readonly<Record<string, { readonly code: number; readonly meaning: string }>>;

/** Error of a command whose cause the operator can fix. The message is for the operator: a line, or one for each key. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exit: keyof typeof exitCodes = 'failed') {
    super(message);
    this.exitCode = exitCodes[exit].code;
  }
}

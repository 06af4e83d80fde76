/** Roles of admin tokens. Each role permits what those before it do. */
export const adminRoles = ['read', 'keys', 'all'] as const;

export type AdminRole = (typeof adminRoles)[number];

/** A token of the admin API. */
export interface AdminToken {
  /** Name in the audit log and in messages. */
  readonly name: string;
  readonly role: AdminRole;
  readonly value: string;
}

/** The tokens of both settings. That of ADMIN_TOKEN has the name `admin` and the role `all`. */
export function adminTokensOf({
  ADMIN_TOKEN: value,
  ADMIN_TOKENS: more = '',
}: {
  readonly ADMIN_TOKEN: string | undefined;
  readonly ADMIN_TOKENS: string | undefined;
}): AdminToken[] {
  const own: AdminToken[] = value === undefined ? [] : [{ name: 'admin', role: 'all', value }];
  const named = more.split(',').filter((text) => text !== '');
  return [...own, ...named.map(readNamedToken)];
}

/** @param text `name:role:token`, valid by the type `tokens` */
function readNamedToken(text: string): AdminToken {
  const [name = '', role, value = ''] = text.trim().split(':');
  return { name, role: role as AdminRole, value };
}

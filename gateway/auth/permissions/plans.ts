import { InvalidPermissionsError, type PermissionTexts } from './permissions.ts';

/** Permissions by the name of a plan, as auth.yaml has them. */
export type Plans = Readonly<Record<string, PermissionTexts>>;

/** Reads the plans when a key has one. */
export type PlanSource = () => Plans;

/**
 * Permissions of a key together with those of its plan, which its own replace field by field.
 * @throws InvalidPermissionsError if there is no such plan, or it is one of tokens; the error of `plans`
 */
export function withPlan(permissions: PermissionTexts, plans: PlanSource): PermissionTexts {
  const { plan, ...own } = permissions;
  if (plan === undefined) return permissions;
  const all = plans();
  const ofPlan = Object.hasOwn(all, plan) ? all[plan] : undefined;
  if (ofPlan?.['team'] !== undefined)
    throw new InvalidPermissionsError([
      'plan: expected a plan without team, which only tokens may have: write the team at the key',
    ]);
  if (ofPlan !== undefined) return { ...ofPlan, ...own };
  const names = Object.keys(all).join(', ');
  throw new InvalidPermissionsError([
    `plan: expected the name of a plan in auth.yaml (${names === '' ? 'it has none' : names})`,
  ]);
}

/** The record with the permissions of its plan, as its calls are checked. @throws as `withPlan` */
export function recordWithPlan<Record extends { readonly permissions?: PermissionTexts }>(
  record: Record,
  plans: PlanSource,
): Record {
  const { permissions } = record;
  return permissions?.['plan'] === undefined ? record : { ...record, permissions: withPlan(permissions, plans) };
}

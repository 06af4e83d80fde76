import type { PlanSource } from '../../gateway/auth/permissions/plans.ts';

/** Plans of an auth.yaml without plans. */
export const noPlans: PlanSource = () => ({});

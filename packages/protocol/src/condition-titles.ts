import type { BackendConditionId } from './backend-conditions.ts';
import type { CloudConditionId } from './cloud-conditions.ts';
import type { conditions } from './conditions.ts';

/** A condition of the agent, the backend or the cloud link that has a name in every language; unknown devices have a page of their own. */
export type TitledCondition =
  | keyof typeof conditions
  | Exclude<BackendConditionId, 'unknown_devices'>
  | CloudConditionId;

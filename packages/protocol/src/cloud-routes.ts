import { CloudClaim, CloudDeadLetters, CloudStatus, SentAgain } from './cloud.ts';
import { CloudActivities } from './cloud-activity.ts';
import { forAdmins, noContent, type RouteTable } from './route.ts';

const tags = ['cloud'];
const forOwners = { station: 'owner', orFormerOwner: true } as const;

/** Contracts, section 9. */
export const cloudRoutes = {
  'GET /api/cloud/status': { access: 'user', tags, response: { 200: CloudStatus } },
  'GET /api/cloud/claim': { access: forOwners, tags, response: { 200: CloudClaim } },
  'POST /api/cloud/unclaim': { access: forOwners, tags, response: noContent },
  'GET /api/cloud/activity': { access: 'user', tags, response: { 200: CloudActivities } },
  'GET /api/cloud/dead-letters': { access: forAdmins, tags, response: { 200: CloudDeadLetters } },
  'POST /api/cloud/dead-letters/send': { access: forAdmins, tags, response: { 200: SentAgain } },
} satisfies RouteTable;

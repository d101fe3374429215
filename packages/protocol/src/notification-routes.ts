import {
  NotificationPreferences,
  NotificationsView,
  OwnTest,
  PushSubscribed,
  PushSubscriptionPut,
  StationNotifications,
  StationNotificationsPut,
  StationTest,
  TestResult,
} from './notifications.ts';
import { forAdmins, IdParams, noContent, type RouteTable } from './route.ts';

const tags = ['notifications'];
const forMembers = { station: 'member' } as const;
const ofOwn = { access: forMembers, tags };
const ofStation = { access: forAdmins, tags };

/** What each user wants to be told, and the channels of the station (ADR 55). */
export const notificationRoutes = {
  'GET /api/notifications': { ...ofOwn, response: { 200: NotificationsView } },
  'PUT /api/notifications/preferences': {
    ...ofOwn,
    body: NotificationPreferences,
    response: { 200: NotificationsView },
  },
  'PUT /api/notifications/push': { ...ofOwn, body: PushSubscriptionPut, response: { 200: PushSubscribed } },
  'DELETE /api/notifications/push/:id': { ...ofOwn, params: IdParams, response: noContent },
  'POST /api/notifications/test': { ...ofOwn, body: OwnTest, response: { 200: TestResult } },
  'GET /api/notifications/station': { ...ofStation, response: { 200: StationNotifications } },
  'PUT /api/notifications/station': {
    ...ofStation,
    body: StationNotificationsPut,
    response: { 200: StationNotifications },
  },
  'POST /api/notifications/station/test': { ...ofStation, body: StationTest, response: { 200: TestResult } },
} satisfies RouteTable;

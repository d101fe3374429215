/** Whether this person may change the station at all, and whether it can be done at this moment. */
export type Manage = { allowed: boolean; possible: boolean };

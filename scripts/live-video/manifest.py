"""Reads an MPD as a player of low-latency DASH does: live, one period, one representation, segments by number and duration."""
import datetime
import math
import re
import xml.etree.ElementTree

NAMESPACE = {"": "urn:mpeg:dash:schema:mpd:2011"}


def time_of_day(text):
    return datetime.datetime.fromisoformat(text).timestamp()


class Manifest:
    """Times are of the clock that `clock` names, in seconds."""

    def __init__(self, text):
        root = xml.etree.ElementTree.fromstring(text)
        period = root.find("Period", NAMESPACE)
        template = period.find("AdaptationSet/SegmentTemplate", NAMESPACE).attrib
        self.clock = root.find("UTCTiming[@schemeIdUri='urn:mpeg:dash:utc:http-iso:2014']", NAMESPACE).attrib["value"]
        self.initialization, self.media = template["initialization"], template["media"]
        self.first, self.duration = int(template["startNumber"]), int(template["duration"]) / int(template["timescale"])
        begun = time_of_day(root.attrib["availabilityStartTime"]) + float(re.fullmatch(r"PT([\d.]+)S", period.attrib["start"])[1])
        self.available_from = begun + self.duration - float(template["availabilityTimeOffset"])

    def available(self, number):
        """When segment NUMBER may be asked for."""
        return self.available_from + (number - self.first) * self.duration

    def newest(self, now):
        """The number of the newest segment that may be asked for."""
        return self.first + math.floor((now - self.available_from) / self.duration)

    def name(self, number):
        return self.media.replace("$Number$", str(number))
